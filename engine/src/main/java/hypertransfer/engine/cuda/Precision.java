package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import hypertransfer.engine.Format;
import java.lang.foreign.MemorySegment;

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

    void encode(double[] values, MemorySegment to) {
        for (int i = 0; i < values.length; i++) {
            switch (this) {
                case FLOAT32 -> to.setAtIndex(JAVA_FLOAT, i, (float) values[i]);
                case BF16 -> to.setAtIndex(JAVA_SHORT, i, Format.bf16((float) values[i]));
            }
        }
    }

    double[] decode(MemorySegment from, int count) {
        double[] values = new double[count];
        for (int i = 0; i < count; i++) {
            values[i] = switch (this) {
                case FLOAT32 -> from.getAtIndex(JAVA_FLOAT, i);
                case BF16 -> Float.intBitsToFloat(from.getAtIndex(JAVA_SHORT, i) << 16);
            };
        }
        return values;
    }
}
