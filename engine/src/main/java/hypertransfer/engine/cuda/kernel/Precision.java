package hypertransfer.engine.cuda.kernel;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import hypertransfer.engine.Format;
import hypertransfer.engine.Fp8;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.stream.IntStream;

/** The format of activations and weights, and of a tensor's numbers. */
public enum Precision {
    /** Everything in float32, without the tensor cores' shortened formats: for proof. */
    FLOAT32(4, 24, 0),
    /** Activations, weights and products in bfloat16, summed in float32: for speed. */
    BF16(2, 8, 14),
    /** Only of exact masters. */
    FLOAT64(8, 53, 1),
    /** Of what products read on an engine whose products take eight bits: values. Such an engine is named by it. */
    E4M3(1, 4, 28),
    /** Gradients. */
    E5M2(1, 3, 29);

    public final int bytes;
    /** Bits of mantissa, the first included. */
    public final int mantissa;
    /** CUDA's own number for the format (cudaDataType). */
    public final int cuda;

    Precision(int bytes, int mantissa, int cuda) {
        this.bytes = bytes;
        this.mantissa = mantissa;
        this.cuda = cuda;
    }

    /** Of an engine that is named by this one. */
    public Precision activations() {
        return this == E4M3 ? BF16 : this;
    }

    public void encode(double[] values, MemorySegment to) {
        IntStream all = IntStream.range(0, values.length).parallel();
        switch (this) {
            case FLOAT32 -> all.forEach(i -> to.setAtIndex(JAVA_FLOAT, i, (float) values[i]));
            case BF16 -> all.forEach(i -> to.setAtIndex(JAVA_SHORT, i, Format.bf16((float) values[i])));
            case FLOAT64 -> MemorySegment.copy(values, 0, to, JAVA_DOUBLE, 0, values.length);
            case E4M3 -> all.forEach(i -> to.set(JAVA_BYTE, i, Fp8.E4M3.bits(values[i])));
            case E5M2 -> all.forEach(i -> to.set(JAVA_BYTE, i, Fp8.E5M2.bits(values[i])));
        }
    }

    public double[] decode(MemorySegment from, int count) {
        double[] values = new double[count];
        switch (this) {
            case FLOAT32 -> Arrays.parallelSetAll(values, i -> from.getAtIndex(JAVA_FLOAT, i));
            case BF16 -> Arrays.parallelSetAll(values, i -> Float.intBitsToFloat(from.getAtIndex(JAVA_SHORT, i) << 16));
            case FLOAT64 -> MemorySegment.copy(from, JAVA_DOUBLE, 0, values, 0, count);
            case E4M3 -> Arrays.parallelSetAll(values, i -> Fp8.E4M3.value(from.get(JAVA_BYTE, i)));
            case E5M2 -> Arrays.parallelSetAll(values, i -> Fp8.E5M2.value(from.get(JAVA_BYTE, i)));
        }
        return values;
    }
}
