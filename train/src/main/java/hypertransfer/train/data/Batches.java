package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.SplitMix;
import java.util.OptionalLong;

/**
 * The order of training: which window a step's micro-batch reads. It is arithmetic on the step only, so a run resumes
 * anywhere without a position being kept.
 *
 * @param micros micro-batches in a step
 * @param seed empty for the order of the corpus, as in the paper; else the windows of every epoch are shuffled, each epoch
 *     differently
 */
public record Batches(Windows windows, int micros, OptionalLong seed) {
    public Batches {
        if (micros < 1) {
            throw new Refusal("a step needs at least 1 micro-batch, not " + micros);
        }
    }

    /** The window of a micro-batch: the corpus from its start, and again when it is through. */
    public long window(long step, int micro) {
        long index = step * micros + micro, epoch = index / windows.count(), i = index % windows.count();
        return seed.isEmpty()
                ? i
                : new Permutation(windows.count(), SplitMix.mix(seed.getAsLong()) ^ SplitMix.mix(epoch)).at(i);
    }

    /** Fills inputs and targets, both of B*T, with micro-batch `micro` of step `step`. */
    public void fill(long step, int micro, int[] inputs, int[] targets) {
        if (step < 0 || micro < 0 || micro >= micros) {
            throw new IllegalArgumentException("step " + step + ", micro-batch " + micro + " of " + micros);
        }
        windows.fill(window(step, micro), inputs, targets);
    }
}
