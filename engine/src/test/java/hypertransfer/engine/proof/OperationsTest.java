package hypertransfer.engine.proof;

import static hypertransfer.engine.proof.Demanded.ROUNDING;
import static hypertransfer.engine.proof.Demanded.cpu;
import static hypertransfer.engine.proof.Demanded.threads;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Role;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;

/** Every operation of the network on the cpu engine, over sizes that fit no vector and no tile. */
class OperationsTest {
    private static final List<Dims> SIZES = List.of(
            new Dims(1, 1, 2, 2, 1),
            new Dims(1, 5, 6, 6, 13),
            new Dims(3, 25, 26, 2, 207),
            new Dims(1, 207, 12, 4, 25),
            new Dims(2, 33, 78, 26, 702),
            new Dims(1, 64, 128, 32, 256, 4, 128, 64),
            new Dims(1, 20, 20, 10, 4098),
            new Dims(2, 5, 12, 2, 13, 3, 7, 2), // two heads of queries for each of keys, and a window of two
            new Dims(2, 99, 48, 8, 61, 2, 200, 33),
            new Dims(1, 70, 24, 12, 25, 1, 24, 1));

    @Test
    void agreeWithTheReference() {
        for (Dims dims : SIZES) {
            assertThat(Comparison.network(cpu(1, dims))).as("%s", dims).allMatch(ROUNDING::accepts);
            assertThat(sharp(cpu(1, dims))).as("%s", dims).allMatch(ROUNDING::accepts);
        }
    }

    @Test
    @DisabledIfSystemProperty(named = "ht.vector.bits", matches = ".*")
    void giveTheSameBitsOnAnyNumberOfThreads() {
        for (Dims dims : SIZES) {
            assertThat(Comparison.network(threads(dims))).as("%s", dims).allMatch(result -> result.error() == 0);
        }
    }

    /**
     * Attention where some rows are nearly one-hot, and exponents reach zero. Both ways at once: the sums of one engine
     * are too coarse for the scores of the other.
     */
    private static List<Result> sharp(Pair pair) {
        double spread = 20;
        Dims dims = pair.dims();
        try (pair) {
            // A score's rounding grows with it, and becomes a relative error of its exponential.
            double terms = dims.T() * Math.pow(spread, 4) * dims.D();
            return pair.tensor(Role.ACTIVATION, "qkv", dims.N(), dims.Q() * dims.D())
                    .tensor(Role.ACTIVATION, "dqkv", dims.N(), dims.Q() * dims.D())
                    .tensor(Role.ACTIVATION, "o", dims.N(), dims.C())
                    .tensor(Role.ACTIVATION, "dO", dims.N(), dims.C())
                    .tensor(Role.STATISTIC, "lse", dims.N(), dims.H())
                    .commit()
                    .fill("qkv", spread)
                    .run("sharp attention", s -> {
                        s.layers().attention(s.t("qkv"), s.t("o"), s.t("lse"));
                        s.layers().attentionBackward(s.t("qkv"), s.t("o"), s.t("lse"), s.t("dO"), s.t("dqkv"));
                    })
                    .same(terms, "o", "lse", "dqkv")
                    .results();
        }
    }

    /** Only the head, which takes the reference long. Which rows are kept has nothing to do with the width of vectors. */
    @Test
    @DisabledIfSystemProperty(named = "ht.vector.bits", matches = ".*")
    void agreeWithMoreLogitsThanTheEngineKeepsAtATime() {
        int N = 65, C = 2, V = 131_073;
        try (Pair pair = cpu(2, new Dims(1, N, C, C, V))) {
            pair.tensor(Role.ACTIVATION, "x", N, C)
                    .tensor(Role.ACTIVATION, "dx", N, C)
                    .tensor(Role.WEIGHT, "w", V, C)
                    .tensor(Role.GRADIENT, "dw", V, C)
                    .tensor(Role.STATISTIC, "losses", N, 1)
                    .commit()
                    .feed()
                    .run("head", s -> s.layers().head(s.t("x"), s.t("w"), s.t("losses"), 1.0 / N, s.t("dx"), s.t("dw")))
                    .same(C, "losses")
                    .same(C + V, "dx")
                    .same(C + N, "dw");
            assertThat(pair.results()).allMatch(ROUNDING::accepts);
        }
    }
}
