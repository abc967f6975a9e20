package hypertransfer.djl.example;

import ai.djl.Model;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Activation;
import ai.djl.nn.Block;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.nn.norm.LayerNorm;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.EasyTrain;
import ai.djl.training.Trainer;
import ai.djl.training.dataset.ArrayDataset;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;
import ai.djl.translate.TranslateException;
import hypertransfer.djl.HyperOptimizer;
import hypertransfer.djl.Rate;
import hypertransfer.djl.Rule;
import java.io.IOException;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;

/** An ordinary DJL program: a small network with layer norms learns which of three spirals a point is on. */
public final class Spirals {
    private static final int CLASSES = 3;
    private static final int POINTS = 600;
    private static final int BATCH = 30;
    private static final int EPOCHS = 8;

    private Spirals() {}

    public static void main(String[] args) throws IOException, TranslateException {
        System.out.println("AdamW: " + train(Spirals::before));
        System.out.println("MuonH: " + train(Spirals::after));
    }

    /** What the program had. */
    static Optimizer before(Model model) {
        return Optimizer.adamW().optLearningRateTracker(falling(0.01f)).build();
    }

    /** The line that is changed: MuonH turns the hidden matrices, at first by 0.03 an update; AdamW trains all else. */
    static Optimizer after(Model model) {
        return HyperOptimizer.muonH()
                .setBlock(model.getBlock())
                .optLearningRateTracker(falling(0.03f))
                .optRest(Rule.adamW(Rate.of(falling(0.01f)), 0))
                .build();
    }

    /** From the rate to zero, over all updates. */
    private static Tracker falling(float rate) {
        int updates = EPOCHS * POINTS / BATCH;
        return Tracker.cosine()
                .setBaseValue(rate)
                .optFinalValue(0)
                .setMaxUpdates(updates)
                .build();
    }

    static Map<String, Float> train(Function<Model, Optimizer> optimizer) throws IOException, TranslateException {
        try (Model model = Model.newInstance("spirals")) {
            model.getNDManager().getEngine().setRandomSeed(1234);
            model.setBlock(network());
            DefaultTrainingConfig config = new DefaultTrainingConfig(Loss.softmaxCrossEntropyLoss())
                    .addEvaluator(new Accuracy())
                    .addTrainingListeners(TrainingListener.Defaults.basic())
                    .optOptimizer(optimizer.apply(model));
            try (Trainer trainer = model.newTrainer(config)) {
                trainer.initialize(new Shape(1, 2));
                EasyTrain.fit(trainer, EPOCHS, spirals(trainer.getManager(), 1), spirals(trainer.getManager(), 2));
                return trainer.getTrainingResult().getEvaluations();
            }
        }
    }

    private static Block network() {
        return new SequentialBlock()
                .add(Linear.builder().setUnits(64).build())
                .add(LayerNorm.builder().build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(64).build())
                .add(LayerNorm.builder().build())
                .add(Activation::relu)
                .add(Linear.builder().setUnits(CLASSES).build());
    }

    private static ArrayDataset spirals(NDManager manager, long seed) {
        Random random = new Random(seed);
        float[] points = new float[2 * POINTS];
        float[] classes = new float[POINTS];
        for (int i = 0; i < POINTS; i++) {
            double along = Math.sqrt(random.nextDouble());
            double angle = 4 * along + 2 * Math.PI * (i % CLASSES) / CLASSES + 0.15 * random.nextGaussian();
            points[2 * i] = (float) (along * Math.cos(angle));
            points[2 * i + 1] = (float) (along * Math.sin(angle));
            classes[i] = i % CLASSES;
        }
        return new ArrayDataset.Builder()
                .setData(manager.create(points, new Shape(POINTS, 2)))
                .optLabels(manager.create(classes))
                .setSampling(BATCH, true)
                .build();
    }
}
