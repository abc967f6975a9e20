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
public record Feed(Batches batches, Batches held, long validations, Batch batch) implements AutoCloseable {
    /** A micro-batch: B*T tokens and those that follow them. The next one takes its place. */
    public record Batch(int[] inputs, int[] targets) {}

    public static Feed open(Configuration c) {
        Configuration.Model m = c.model();
        int size = m.batch() * m.sequence();
        OptionalLong seed = c.data().shuffle() ? OptionalLong.of(c.seed()) : OptionalLong.empty();
        List<Corpus> opened = new ArrayList<>();
        try {
            opened.add(open(c.data().train(), Split.TRAIN, m.vocab()));
            opened.add(open(c.data().validation(), Split.VALIDATION, m.vocab()));
            Batches batches = new Batches(opened.get(0), size, m.accumulation(), seed);
            Batches held = new Batches(opened.get(1), size, 1, OptionalLong.empty());
            long validations = Math.min(c.validation().batches(), held.count());
            return new Feed(batches, held, validations, new Batch(new int[size], new int[size]));
        } catch (RuntimeException e) {
            opened.forEach(Corpus::close);
            throw e;
        }
    }

    private static Corpus open(String place, Split split, int vocab) {
        if (!place.equals("demo")) {
            return Corpus.open(List.of(place.split(",")), split, vocab);
        }
        if (vocab >= Vocabulary.GPT2.size) {
            throw new Refusal("the data is demo, whose tokens are 256 bytes, and model.vocab is " + vocab
                    + ", for GPT-2's tokens; write shards with 'ht data tokenize' and name them with"
                    + " --set data.train=DIR --set data.validation=DIR, or train on bytes with --set model.vocab=256");
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
        batches.corpus().close();
        held.corpus().close();
    }
}
