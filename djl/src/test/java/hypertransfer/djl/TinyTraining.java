package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import hypertransfer.core.Refusal;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** The tiny network trained with DJL. */
final class TinyTraining implements AutoCloseable {
    final TinyBlock block;
    final HyperOptimizer optimizer;
    private final TinyWeights start;
    private final Model model;
    private final Trainer trainer;

    TinyTraining(TinyWeights start, boolean invariant, DataType type, Function<TinyBlock, HyperOptimizer> optimizer) {
        this.start = start;
        this.block = new TinyBlock(start, invariant);
        this.optimizer = optimizer.apply(block);
        this.model = Model.newInstance("tiny", "PyTorch");
        model.setBlock(block);
        model.setDataType(type);
        trainer = model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()).optOptimizer(this.optimizer));
        trainer.initialize(new Shape(TinyWeights.N), new Shape(TinyWeights.N));
    }

    TinyTraining(TinyWeights start, boolean invariant, DataType type, Rule hidden, Rule rest) {
        this(start, invariant, type, block -> new HyperOptimizer(new Routes(block, hidden, rest)));
    }

    /** The losses before steps {@code from} to {@code to}. */
    double[] run(int from, int to) {
        double[] losses = new double[to - from];
        for (int t = from; t < to; t++) {
            losses[t - from] = step(t);
        }
        return losses;
    }

    /** Step number t, and the loss before it. */
    double step(int t) {
        double loss = backward(t);
        if (model.getDataType() == DataType.FLOAT32) {
            trainer.step();
        } else { // DJL's trainer first checks that gradients are there, in a way that only float gradients pass
            for (Parameter parameter : block.getParameters().values()) {
                try (NDArray gradient = parameter.getArray().getGradient()) {
                    optimizer.update(parameter.getId(), parameter.getArray(), gradient);
                }
            }
        }
        return loss;
    }

    double backward(int t) {
        try (NDManager batch = trainer.getManager().newSubManager();
                GradientCollector collector = trainer.newGradientCollector()) {
            NDList data = new NDList(
                    batch.create(start.inputs()[t % TinyWeights.BATCHES]),
                    batch.create(start.targets()[t % TinyWeights.BATCHES]));
            NDArray loss = trainer.forward(data).singletonOrThrow();
            collector.backward(loss);
            return loss.toType(DataType.FLOAT64, false).getDouble();
        }
    }

    void set(String name, double[] values) {
        NDArray array = block.parameter(name).getArray();
        try (NDManager manager = NDManager.newBaseManager("PyTorch")) {
            manager.create(values, array.getShape())
                    .toType(array.getDataType(), false)
                    .copyTo(array);
        }
    }

    /** An update of only this parameter. */
    void update(String name, double[] gradient) {
        Parameter parameter = block.parameter(name);
        NDArray array = parameter.getArray();
        try (NDManager manager = NDManager.newBaseManager("PyTorch")) {
            NDArray given = manager.create(gradient, array.getShape()).toType(array.getDataType(), false);
            optimizer.update(parameter.getId(), array, given);
        }
    }

    /** What the parameter holds now. */
    double[] weight(String name) {
        try (NDArray copy = block.parameter(name).getArray().toType(DataType.FLOAT64, true)) {
            return copy.toDoubleArray();
        }
    }

    Map<String, double[]> weights() {
        Map<String, double[]> weights = new LinkedHashMap<>();
        start.values().keySet().forEach(name -> weights.put(name, weight(name)));
        return weights;
    }

    static void refused(ThrowingCallable call, String... words) {
        assertThatThrownBy(call).isInstanceOf(Refusal.class).hasMessageContainingAll(words);
    }

    /** What another training may start from. */
    TinyWeights standing() {
        return new TinyWeights(weights(), start.inputs(), start.targets());
    }

    @Override
    public void close() {
        trainer.close();
        model.close();
    }
}
