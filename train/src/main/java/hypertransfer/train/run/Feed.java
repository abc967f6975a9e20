package hypertransfer.train.run;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.data.Batches;
import hypertransfer.train.data.Corpus;
import hypertransfer.train.data.DemoText;
import hypertransfer.train.data.Split;
import hypertransfer.train.data.Windows;
import java.util.List;
import java.util.OptionalLong;

/** The micro-batches of a run, in the configuration's order. */
public final class Feed implements AutoCloseable {
    private final Corpus training;
    private final Corpus validation;
    private final Batches batches;
    private final Windows held;
    private final int[] inputs;
    private final int[] targets;

    public Feed(Configuration c) {
        Configuration.Model m = c.model();
        training = open(c.data().train(), Split.TRAIN, m.vocab());
        validation = open(c.data().validation(), Split.VALIDATION, m.vocab());
        Windows windows = Windows.of(training, m.batch(), m.sequence());
        OptionalLong seed = c.data().shuffle() ? OptionalLong.of(c.seed()) : OptionalLong.empty();
        batches = new Batches(windows, m.accumulation(), seed);
        Windows all = Windows.of(validation, m.batch(), m.sequence());
        held = all.first((int) Math.min(c.validation().batches(), all.count()));
        inputs = new int[windows.size()];
        targets = new int[windows.size()];
    }

    private static Corpus open(String place, Split split, int vocab) {
        return place.equals("demo") ? DemoText.corpus(split) : Corpus.open(List.of(place.split(",")), split, vocab);
    }

    /** The gradient of a step, in the trainee's gradients. */
    void gradient(Trainee trainee, int step) {
        trainee.engine().zero(trainee.parameters().gradients());
        for (int micro = 0; micro < batches.micros(); micro++) {
            batches.fill(step, micro, inputs, targets);
            trainee.network().gradient(inputs, targets, micro);
        }
    }

    /** The mean loss over the validation windows. */
    double validate(Trainee trainee) {
        double sum = 0;
        for (long i = 0; i < held.count(); i++) {
            sum += loss(trainee, i);
        }
        return sum / held.count();
    }

    /** The loss of one validation window. */
    double loss(Trainee trainee, long window) {
        held.fill(window, inputs, targets);
        return trainee.network().loss(inputs, targets);
    }

    @Override
    public void close() {
        training.close();
        validation.close();
    }
}
