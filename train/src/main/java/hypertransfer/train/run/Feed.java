package hypertransfer.train.run;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.data.Batches;
import hypertransfer.train.data.Corpus;
import hypertransfer.train.data.DemoText;
import hypertransfer.train.data.Split;
import hypertransfer.train.data.Windows;
import hypertransfer.train.ranks.Team;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.stream.IntStream;

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

    /** How many tokens each corpus has, by the key that names it. */
    Map<String, String> sizes() {
        return Map.of(
                "the tokens of data.train",
                Long.toString(training.count()),
                "the tokens of data.validation",
                Long.toString(validation.count()));
    }

    /** The gradient of a step, in the gradients of what this rank owns. */
    void gradient(Trainee trainee, int step) {
        Team team = trainee.team();
        team.zero();
        for (int micro = team.rank(); micro < batches.micros(); micro += team.size()) {
            batches.fill(step, micro, inputs, targets);
            trainee.network().gradient(inputs, targets, micro);
            team.add();
        }
        team.gather(trainee.network().losses());
    }

    /** The mean loss over the validation windows, which the ranks take in turns. */
    double validate(Trainee trainee) {
        Team team = trainee.team();
        int count = Math.toIntExact(held.count());
        double[] own = IntStream.range(0, count)
                .filter(window -> window % team.size() == team.rank())
                .mapToDouble(window -> loss(trainee, window))
                .toArray();
        double sum = 0;
        for (double loss : team.turns(own, count)) {
            sum += loss;
        }
        return sum / count;
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
