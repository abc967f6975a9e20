package hypertransfer.engine.proof;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** All operations on two engines of one kind beside each other: for what is seen on the way, without the reference's time. */
public final class Twice {
    private Twice() {}

    public static List<Result> run(Function<Dims, Engine> open, Dims dims) {
        int C = dims.C();
        List<Result> results = new ArrayList<>(Comparison.network(pair(open, dims)));
        results.addAll(Movement.run(pair(open, dims), new int[][] {{C, C}, {4 * C, C}, {C, 4 * C}}));
        results.addAll(Movement.bases(pair(open, dims)));
        return results;
    }

    private static Pair pair(Function<Dims, Engine> open, Dims dims) {
        return new Pair(open.apply(dims), open.apply(dims));
    }
}
