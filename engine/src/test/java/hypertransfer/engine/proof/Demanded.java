package hypertransfer.engine.proof;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Dims;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.door.Checked;
import hypertransfer.engine.proof.Result.Tolerance;
import java.util.stream.IntStream;

/** The engine that tests are about: nothing stands in for it, unless ht.engine demands another one. */
final class Demanded {
    /** What sums in float32 leave: eight roundings of the square root of their length. */
    static final Tolerance ROUNDING = new Tolerance(Double.POSITIVE_INFINITY, 8);

    private Demanded() {}

    /** One, and more than there are cores; two where the width of vectors is another. */
    static IntStream threads() {
        return System.getProperty("ht.vector.bits") == null ? IntStream.of(1, 4) : IntStream.of(2);
    }

    static Pair cpu(int threads, Dims dims) {
        String engine = System.getProperty("ht.engine", "cpu");
        assumeTrue(engine.equals("cpu"), "ht.engine demands " + engine);
        return new Pair(new Checked(new CpuEngine(dims, threads)));
    }
}
