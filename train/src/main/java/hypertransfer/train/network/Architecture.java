package hypertransfer.train.network;

import hypertransfer.engine.Dims;

/**
 * What a network is, apart from how it is trained.
 *
 * @param vocab V
 * @param layers L
 * @param width C
 * @param head the width of a head, D
 * @param sequence T
 */
public record Architecture(Variant variant, int vocab, int layers, int width, int head, int sequence) {

    /** The sizes an engine is opened for. */
    public Dims dims(int batch) {
        return new Dims(batch, sequence, width, head, vocab);
    }

    /** The number of parameters without the head, which is a matrix of its own here; sizes are often told so. */
    public long parametersWithoutHead() {
        return parameters() - (long) vocab * width;
    }

    /** The number of parameters. */
    public long parameters() {
        return 2L * vocab * width + 12L * layers * width * width + (2L * layers + 2) * width;
    }
}
