package hypertransfer.engine.cuda;

/** The format of activations and of what the network is evaluated at. All that the optimizer holds is float32. */
public enum Precision {
    /** Everything in float32, without the tensor cores' shortened formats: for proof. */
    FLOAT32(4, 0),
    /** Activations, weights and products in bfloat16, summed in float32: for speed. */
    BF16(2, 14);

    final int bytes;
    /** CUDA's own number for the format (cudaDataType). */
    final int cuda;

    Precision(int bytes, int cuda) {
        this.bytes = bytes;
        this.cuda = cuda;
    }
}
