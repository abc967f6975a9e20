package hypertransfer.engine.proof;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import java.util.function.Function;

/** All operations on two engines of one kind beside each other: for what is seen on the way, without the reference's time. */
public final class Twice {
    private Twice() {}

    public static void run(Function<Dims, Engine> open, Dims dims) {
        int C = dims.C();
        Comparison.network(pair(open, dims));
        Movement.run(pair(open, dims), new int[][] {{C, C}, {4 * C, C}, {C, 4 * C}});
        Bases.run(pair(open, dims));
    }

    private static Pair pair(Function<Dims, Engine> open, Dims dims) {
        return new Pair(open.apply(dims), open.apply(dims));
    }
}
