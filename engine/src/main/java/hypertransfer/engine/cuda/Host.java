package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;

import hypertransfer.engine.Format;
import java.lang.foreign.MemorySegment;

/** Between doubles here and the card's formats. */
final class Host {
    private Host() {}

    static void encode(double[] values, Precision format, MemorySegment to) {
        for (int i = 0; i < values.length; i++) {
            switch (format) {
                case FLOAT32 -> to.setAtIndex(JAVA_FLOAT, i, (float) values[i]);
                case BF16 -> to.setAtIndex(JAVA_SHORT, i, Format.bf16((float) values[i]));
            }
        }
    }

    static double[] decode(MemorySegment from, Precision format, int count) {
        double[] values = new double[count];
        for (int i = 0; i < count; i++) {
            values[i] = switch (format) {
                case FLOAT32 -> from.getAtIndex(JAVA_FLOAT, i);
                case BF16 -> Float.intBitsToFloat(from.getAtIndex(JAVA_SHORT, i) << 16);
            };
        }
        return values;
    }
}
