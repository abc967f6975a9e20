package hypertransfer.engine.cuda.kernel;

import hypertransfer.engine.Tensor;

/**
 * A tensor on the card: rows of what was declared as a whole, which has an address once the engine commits.
 *
 * @param offset bytes from the whole's start
 */
public record DeviceTensor(String name, int rows, int cols, Precision format, Whole whole, long offset)
        implements Tensor {
    static final class Whole {
        private long pointer;
    }

    public DeviceTensor(String name, int rows, int cols, Precision format) {
        this(name, rows, cols, format, new Whole(), 0);
    }

    /** Whether it has eight bits per number. */
    public static boolean eight(Tensor tensor) {
        return tensor != null && tensor.numberBytes() == 1;
    }

    public void place(long at) {
        whole.pointer = at;
    }

    public long pointer() {
        return whole.pointer + offset;
    }

    /** The address of a tensor that is on the card. */
    public static long pointer(Tensor tensor) {
        return ((DeviceTensor) tensor).pointer();
    }

    @Override
    public int numberBytes() {
        return format.bytes;
    }

    public DeviceTensor slice(String sliceName, int from, int count) {
        return new DeviceTensor(sliceName, count, cols, format, whole, offset + (long) from * cols * format.bytes);
    }
}
