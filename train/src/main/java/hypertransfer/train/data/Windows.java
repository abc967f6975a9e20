package hypertransfer.train.data;

import hypertransfer.core.Refusal;

/**
 * A corpus cut into windows of B*T inputs and their targets, the ids that follow. Windows advance by B*T, so the last
 * target of one is the first input of the next; what is left at the end and fills no window is not used.
 *
 * @param size inputs in a window: B*T
 */
public record Windows(Corpus corpus, int size, long count) {

    /** All windows of a corpus, each of batch * sequence inputs. */
    public static Windows of(Corpus corpus, int batch, int sequence) {
        if (batch < 1 || sequence < 1 || (long) batch * sequence >= Integer.MAX_VALUE) {
            throw new Refusal("a micro-batch of " + batch + " sequences of " + sequence
                    + " tokens is not possible; both must be at least 1, their product below 2^31");
        }
        int size = batch * sequence;
        if (corpus.count() <= size) {
            throw new Refusal("the corpus " + corpus.names() + " has " + corpus.count()
                    + " tokens, and one micro-batch takes " + (size + 1L)
                    + "; use more text, or a smaller batch or sequence");
        }
        return new Windows(corpus, size, (corpus.count() - 1) / size);
    }

    /** The first of them: validation always uses the same, so that losses can be compared. */
    public Windows first(int k) {
        if (k < 1 || k > count) {
            throw new Refusal("the first " + k + " micro-batches of " + corpus.names() + " were asked for; it has "
                    + count + " of " + size + " tokens: ask for 1 to " + count);
        }
        return new Windows(corpus, size, k);
    }

    /** Fills inputs and targets, both of {@link #size()}, with window i; allocates nothing. */
    public void fill(long i, int[] inputs, int[] targets) {
        if (i < 0 || i >= count || inputs.length != size || targets.length != size) {
            throw new IllegalArgumentException("window " + i + " of " + count + " into arrays of " + inputs.length
                    + " and " + targets.length + " for " + size + " tokens");
        }
        long from = i * size;
        corpus.read(from, inputs, 0, size);
        System.arraycopy(inputs, 1, targets, 0, size - 1);
        corpus.read(from + size, targets, size - 1, 1);
    }
}
