package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.SplitMix;
import java.util.OptionalLong;

/**
 * A corpus cut into windows of B*T inputs and their targets, the ids that follow, and the order in which they are read. Windows
 * advance by B*T, so the last target of one is the first input of the next; what is left at the end and fills no window is
 * not used. The order is arithmetic on the step only, so a run resumes anywhere without a position being kept.
 *
 * @param size inputs in a window, B*T
 * @param micros micro-batches in a step
 * @param seed empty for the order of the corpus, as in the paper; else the windows of every epoch are shuffled, each epoch
 *     differently
 */
public record Batches(Corpus corpus, int size, int micros, OptionalLong seed) {
    public Batches {
        if (corpus.count() <= size) {
            throw new Refusal("the corpus " + corpus.names() + " has " + corpus.count()
                    + " tokens, and one micro-batch takes " + (size + 1L)
                    + "; use more text, or a smaller batch or sequence");
        }
    }

    /** The windows of the corpus. */
    public long count() {
        return (corpus.count() - 1) / size;
    }

    /** The window of a micro-batch: the corpus from its start, and again when it is through. */
    public long window(long step, int micro) {
        long index = step * micros + micro, epoch = index / count(), i = index % count();
        return seed.isEmpty()
                ? i
                : new Permutation(count(), SplitMix.mix(seed.getAsLong()) ^ SplitMix.mix(epoch)).at(i);
    }

    /** Fills inputs and targets, both of that size, with micro-batch `micro` of step `step`. */
    public void fill(long step, int micro, int[] inputs, int[] targets) {
        long from = window(step, micro) * size;
        corpus.read(from, inputs, 0, size);
        System.arraycopy(inputs, 1, targets, 0, size - 1);
        corpus.read(from + size, targets, size - 1, 1);
    }
}
