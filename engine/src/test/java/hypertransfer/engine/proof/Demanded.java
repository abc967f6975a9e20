package hypertransfer.engine.proof;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.door.Checked;
import hypertransfer.engine.proof.Result.Tolerance;

/** The engine that tests are about: nothing stands in for it, unless ht.engine demands another one. */
final class Demanded {
    /** What sums in float32 leave: eight roundings of the square root of their length. */
    static final Tolerance ROUNDING = new Tolerance(Double.POSITIVE_INFINITY, 8);

    private Demanded() {}

    static Pair cpu(int threads, Dims dims) {
        return new Pair(engine(threads, dims));
    }

    /** More threads than there are cores beside one: the bits must be the same. */
    static Pair threads(Dims dims) {
        return new Pair(engine(4, dims), engine(1, dims));
    }

    private static Engine engine(int threads, Dims dims) {
        String engine = System.getProperty("ht.engine", "cpu");
        assumeTrue(engine.equals("cpu"), "ht.engine demands " + engine);
        return Checked.of(new CpuEngine(dims, threads));
    }
}
