package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.data.Batches;
import hypertransfer.train.data.Corpus;
import hypertransfer.train.data.DemoText;
import hypertransfer.train.data.Split;
import hypertransfer.train.data.text.Vocabulary;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Hands out the tokens of a run, in the configuration's order.
 *
 * @param validations how many windows are used for validation: always the first, so that losses can be compared
 */
public record Feed(Corpus training, Corpus validation, Batches batches, Batches held, long validations, Batch batch)
        implements AutoCloseable {
    /** A micro-batch: B*T tokens and those that follow them. The next one takes its place. */
    public record Batch(int[] inputs, int[] targets) {}

    private static Feed of(Configuration c, Corpus training, Corpus validation) {
        Configuration.Model m = c.model();
        OptionalLong seed = c.data().shuffle() ? OptionalLong.of(c.seed()) : OptionalLong.empty();
        Batches batches = new Batches(training, m.batch(), m.sequence(), m.accumulation(), seed);
        Batches held = new Batches(validation, m.batch(), m.sequence(), 1, OptionalLong.empty());
        long validations = Math.min(c.validation().batches(), held.count());
        Batch batch = new Batch(new int[batches.size()], new int[batches.size()]);
        return new Feed(training, validation, batches, held, validations, batch);
    }

    public static Feed open(Configuration c) {
        List<Corpus> opened = new ArrayList<>();
        try {
            opened.add(open(c.data().train(), Split.TRAIN, c.model().vocab()));
            opened.add(open(c.data().validation(), Split.VALIDATION, c.model().vocab()));
            return of(c, opened.get(0), opened.get(1));
        } catch (RuntimeException e) {
            opened.forEach(Corpus::close);
            throw e;
        }
    }

    private static Corpus open(String place, Split split, int vocab) {
        if (!place.equals("demo")) {
            return Corpus.open(List.of(place.split(",")), split, vocab);
        }
        if (vocab >= Vocabulary.GPT2.size()) {
            throw new Refusal("the data is demo, whose tokens are 256 bytes, and model.vocab is " + vocab
                    + ", for GPT-2's tokens; write shards with 'ht data tokenize' and name them with"
                    + " --set data.train=DIR --set data.validation=DIR, or take the bytes with --set model.vocab=256");
        }
        return DemoText.corpus(split);
    }

    Batch training(long step, int micro) {
        batches.fill(step, micro, batch.inputs, batch.targets);
        return batch;
    }

    Batch validation(long window) {
        held.fill(window, 0, batch.inputs, batch.targets);
        return batch;
    }

    @Override
    public void close() {
        training.close();
        validation.close();
    }
}
