package hypertransfer.engine.reference;

import hypertransfer.engine.Dims;
import java.util.Arrays;

/** Causal attention over a window of keys, one query after the other; before each it asks whether to stop. */
final class Attention {
    private Attention() {}

    static void forward(Dims dims, Array qkv, Array o, Array lse, Runnable ask) {
        int D = dims.D();
        for (int n = 0; n < dims.N(); n++) {
            ask.run();
            for (int h = 0; h < dims.H(); h++) {
                int first = first(dims, n);
                double[] scores = scores(dims, qkv, n, h);
                double max = Arrays.stream(scores).max().getAsDouble();
                double sum =
                        Arrays.stream(scores).map(s -> StrictMath.exp(s - max)).sum();
                lse.data()[lse.row(n) + h] = max + StrictMath.log(sum);
                int to = o.row(n) + h * D;
                Arrays.fill(o.data(), to, to + D, 0);
                for (int j = 0; j < scores.length; j++) {
                    double p = StrictMath.exp(scores[j] - max) / sum;
                    Rows.add(p, qkv.data(), part(dims, qkv, first + j, 2, h), o.data(), to, D);
                }
            }
        }
    }

    static void backward(Dims dims, Array qkv, Array lse, Array dO, Array dqkv, Runnable ask) {
        int D = dims.D();
        double scale = 1 / Math.sqrt(D);
        Arrays.fill(dqkv.data(), dqkv.row(0), dqkv.row(dims.N()), 0);
        for (int n = 0; n < dims.N(); n++) {
            ask.run();
            for (int h = 0; h < dims.H(); h++) {
                int first = first(dims, n);
                int from = dO.row(n) + h * D;
                double[] p = scores(dims, qkv, n, h);
                double[] dp = new double[p.length];
                double mean = 0;
                for (int j = 0; j < p.length; j++) {
                    p[j] = StrictMath.exp(p[j] - lse.data()[lse.row(n) + h]);
                    dp[j] = Rows.dot(dO.data(), from, qkv.data(), part(dims, qkv, first + j, 2, h), D);
                    mean += p[j] * dp[j];
                }
                for (int j = 0; j < p.length; j++) {
                    double ds = scale * p[j] * (dp[j] - mean);
                    int q = part(dims, qkv, n, 0, h), k = part(dims, qkv, first + j, 1, h);
                    Rows.add(ds, qkv.data(), k, dqkv.data(), part(dims, dqkv, n, 0, h), D);
                    Rows.add(ds, qkv.data(), q, dqkv.data(), part(dims, dqkv, first + j, 1, h), D);
                    Rows.add(p[j], dO.data(), from, dqkv.data(), part(dims, dqkv, first + j, 2, h), D);
                }
            }
        }
    }

    /** The first key that query n sees. */
    private static int first(Dims dims, int n) {
        return Math.max(n - n % dims.T(), n - dims.W() + 1);
    }

    /** Query n of head h against the keys that it sees, up to its own. */
    private static double[] scores(Dims dims, Array qkv, int n, int h) {
        int first = first(dims, n);
        double[] scores = new double[n - first + 1], x = qkv.data();
        for (int j = 0; j < scores.length; j++) {
            int q = part(dims, qkv, n, 0, h), k = part(dims, qkv, first + j, 1, h);
            scores[j] = Rows.dot(x, q, x, k, dims.D()) / Math.sqrt(dims.D());
        }
        return scores;
    }

    /** Where the query (0), key (1) or value (2) of token n that head h works with starts. */
    private static int part(Dims dims, Array qkv, int n, int part, int h) {
        int shared = h * dims.G() / dims.H();
        int head = part == 0 ? h : dims.H() + (part - 1) * dims.G() + shared;
        return qkv.row(n) + head * dims.D();
    }
}
