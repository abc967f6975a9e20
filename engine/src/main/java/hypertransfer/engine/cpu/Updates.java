package hypertransfer.engine.cpu;

import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.loop.Numbers;
import hypertransfer.engine.cpu.loop.Rows;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.thread.Twin;
import hypertransfer.engine.cpu.vector.Doubles;
import hypertransfer.engine.cpu.vector.Lanes;
import hypertransfer.engine.cpu.vector.Sums;
import java.util.List;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/**
 * What the optimizer does to every number of many tensors, in chunks of a fixed size. Each is a task of its own: in one
 * method they are more than the compiler inlines, and their vectors become objects.
 */
final class Updates {
    private static final int CHUNK = 1 << 15;

    private final Pool pool;
    private List<Tensor> a, b, c;
    private double[] f, g; // factors
    private double beta1, beta2, epsilon, limit;
    private float c1, c2;
    private boolean nesterov;
    private int grid;
    private int[] first = {}; // the first piece of each tensor
    private double[] partial = {};

    private final Task zero = new Twin(
            (piece, worker) -> {
                int k = tensor(piece);
                Rows.write(new float[length(k, piece)], at(a, k, piece));
            },
            (piece, worker) -> {
                int k = tensor(piece);
                Lanes.fill(0, at(a, k, piece), length(k, piece));
            });
    private final Task momentum =
            new Twin((piece, worker) -> momentum(piece, true), (piece, worker) -> momentum(piece, false));
    private final Task adam = new Twin((piece, worker) -> adam(piece, true), (piece, worker) -> adam(piece, false));
    private final Task sign = (piece, worker) -> {
        int k = tensor(piece);
        float freshLook = (float) ((1 - beta1) * f[k]), freshKeep = (float) ((1 - beta2) * f[k]);
        long at = at(a, k, piece), m = at(b, k, piece);
        sign(at, m, (float) beta1, freshLook, (float) beta2, freshKeep, length(k, piece));
    };
    private final Task clamp = (piece, worker) -> {
        int k = tensor(piece);
        clamp(at(a, k, piece), (float) f[k], (float) limit, length(k, piece));
    };
    private final Task vectorsRead = (piece, worker) -> {
        int k = tensor(piece), n = length(k, piece);
        long x = at(a, k, piece), y = at(b, k, piece);
        boolean exactly = exact(a, k), both = exact(b, k);
        partial[3 * piece] = exactly ? Doubles.squares(x, n) : Sums.squares(x, n);
        partial[3 * piece + 1] = both ? Doubles.squares(y, n) : Sums.squares(y, n);
        partial[3 * piece + 2] = exactly ? Doubles.dot(x, y, both, n) : Sums.dot(x, y, n);
    };
    private final Task read = new Twin(this::readLoops, vectorsRead);
    private final Task vectorsMove = (piece, worker) -> {
        int k = tensor(piece);
        if (exact(a, k)) {
            Doubles.move(at(a, k, piece), at(b, k, piece), f[k], g[k], length(k, piece));
            return;
        }
        move(at(a, k, piece), at(b, k, piece), (float) (1 - f[k]), (float) g[k], length(k, piece));
    };
    private final Task move = new Twin(this::moveLoops, vectorsMove);
    private final Task represent = (piece, worker) -> {
        int k = tensor(piece);
        if (exact(a, k)) {
            Doubles.represent(at(a, k, piece), f[k], grid, at(b, k, piece), length(k, piece));
        } else {
            Lanes.scale((float) f[k], at(a, k, piece), at(b, k, piece), length(k, piece));
            Doubles.round(at(b, k, piece), grid, length(k, piece));
        }
    };

    Updates(Pool pool) {
        this.pool = pool;
    }

    void zero(List<Tensor> tensors) {
        run(zero, tensors, tensors, tensors);
    }

    void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        this.f = scale;
        this.beta1 = beta;
        this.nesterov = nesterov;
        run(momentum, g, m, m);
    }

    void adam(
            List<Tensor> g,
            double[] scale,
            double beta1,
            double beta2,
            double epsilon,
            long t,
            List<Tensor> m,
            List<Tensor> v) {
        this.f = scale;
        this.beta1 = beta1;
        this.beta2 = beta2;
        this.epsilon = epsilon;
        c1 = (float) (1 / (1 - Math.pow(beta1, t)));
        c2 = (float) (1 / (1 - Math.pow(beta2, t)));
        run(adam, g, m, v);
    }

    void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        this.f = scale;
        this.beta1 = look;
        this.beta2 = keep;
        run(sign, g, m, m);
    }

    void clamp(List<Tensor> g, double[] scale, double limit) {
        this.f = scale;
        this.limit = limit;
        run(clamp, g, g, g);
    }

    double[] readings(List<Tensor> w, List<Tensor> u) {
        int pieces = prepare(w, u, u);
        if (partial.length < 3 * pieces) {
            partial = new double[3 * pieces];
        }
        pool.run(read, pieces);
        double[] readings = new double[3 * w.size()];
        for (int piece = 0, k = 0; piece < pieces; piece++) {
            while (k + 1 < w.size() && first[k + 1] <= piece) {
                k++;
            }
            for (int i = 0; i < 3; i++) {
                readings[3 * k + i] += partial[3 * piece + i];
            }
        }
        for (int k = 0; k < w.size(); k++) {
            readings[3 * k] = Math.sqrt(readings[3 * k]);
            readings[3 * k + 1] = Math.sqrt(readings[3 * k + 1]);
        }
        return readings;
    }

    void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        this.f = keep;
        this.g = push;
        run(move, w, u, u);
        Twin.stepped();
    }

    void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        this.f = scale;
        this.grid = grid;
        run(represent, masters, weights, weights);
    }

    private void run(Task task, List<Tensor> a, List<Tensor> b, List<Tensor> c) {
        pool.run(task, prepare(a, b, c));
    }

    /** How many pieces there are. */
    private int prepare(List<Tensor> a, List<Tensor> b, List<Tensor> c) {
        this.a = a;
        this.b = b;
        this.c = c;
        if (first.length < a.size()) {
            first = new int[a.size()];
        }
        int pieces = 0;
        for (int k = 0; k < a.size(); k++) {
            first[k] = pieces;
            pieces += (int) ((a.get(k).size() + CHUNK - 1) / CHUNK);
        }
        return pieces;
    }

    /** The last tensor that starts at or before a piece. */
    private int tensor(int piece) {
        int k = 0;
        for (int high = a.size() - 1; k < high; ) {
            int middle = (k + high + 1) >>> 1;
            if (first[middle] <= piece) {
                k = middle;
            } else {
                high = middle - 1;
            }
        }
        return k;
    }

    private long at(List<Tensor> list, int k, int piece) {
        Floats tensor = (Floats) list.get(k);
        return tensor.at() + (long) tensor.numberBytes() * (piece - first[k]) * CHUNK;
    }

    private static boolean exact(List<Tensor> list, int k) {
        return ((Floats) list.get(k)).exact();
    }

    private int length(int k, int piece) {
        return (int) Math.min(CHUNK, a.get(k).size() - (long) (piece - first[k]) * CHUNK);
    }

    private void momentum(int piece, boolean loops) {
        int k = tensor(piece), n = length(k, piece);
        float beta = (float) beta1, fresh = (float) ((1 - beta1) * f[k]);
        if (loops && Rows.whole(n)) {
            Numbers.momentum(at(a, k, piece), at(b, k, piece), beta, fresh, nesterov, n);
        } else {
            momentum(at(a, k, piece), at(b, k, piece), beta, fresh, nesterov, n);
        }
    }

    private void adam(int piece, boolean loops) {
        int k = tensor(piece), n = length(k, piece);
        long g = at(a, k, piece), m = at(b, k, piece), v = at(c, k, piece);
        if (loops && Rows.whole(n)) {
            float b1 = (float) beta1, b2 = (float) beta2, f1 = (float) (1 - beta1), f2 = (float) (1 - beta2);
            Numbers.adam(g, m, v, (float) f[k], b1, f1, c1, b2, f2, c2, (float) epsilon, n);
        } else {
            adam(g, m, v, (float) f[k], n);
        }
    }

    private void readLoops(int piece, int worker) {
        int k = tensor(piece), n = length(k, piece);
        long x = at(a, k, piece), y = at(b, k, piece);
        if (exact(a, k) || exact(b, k)) {
            vectorsRead.piece(piece, worker);
            return;
        }
        partial[3 * piece] = Numbers.dot(x, x, n);
        partial[3 * piece + 1] = Numbers.dot(y, y, n);
        partial[3 * piece + 2] = Numbers.dot(x, y, n);
    }

    private void moveLoops(int piece, int worker) {
        int k = tensor(piece), n = length(k, piece);
        if (exact(a, k) || !Rows.whole(n)) {
            vectorsMove.piece(piece, worker);
            return;
        }
        Numbers.move(at(a, k, piece), at(b, k, piece), (float) (1 - f[k]), (float) g[k], n);
    }

    private static void momentum(long g, long m, float beta, float fresh, boolean nesterov, int n) {
        long dm = m - g, whole = Lanes.whole(g, n), end = Lanes.end(g, n);
        FloatVector betas = Lanes.all(beta);
        for (; g < whole; g += Lanes.STEP) {
            FloatVector gradient = Lanes.load(g).mul(fresh);
            FloatVector mean = Lanes.load(g + dm).fma(betas, gradient);
            Lanes.store(mean, g + dm);
            Lanes.store(nesterov ? mean.fma(betas, gradient) : mean, g);
        }
        for (; g < end; g += 4) {
            float gradient = Lanes.get(g) * fresh;
            float mean = Lanes.get(g + dm) * beta + gradient;
            Lanes.put(g + dm, mean);
            Lanes.put(g, nesterov ? mean * beta + gradient : mean);
        }
    }

    private void adam(long g, long m, long v, float scale, int n) {
        long dm = m - g, dv = v - g, whole = Lanes.whole(g, n), end = Lanes.end(g, n);
        float b1 = (float) beta1, b2 = (float) beta2, f1 = (float) (1 - beta1), f2 = (float) (1 - beta2);
        float unbias1 = c1, unbias2 = c2, eps = (float) epsilon;
        FloatVector b1s = Lanes.all(b1), b2s = Lanes.all(b2);
        for (; g < whole; g += Lanes.STEP) {
            FloatVector gradient = Lanes.load(g).mul(scale);
            FloatVector mean = Lanes.load(g + dm).fma(b1s, gradient.mul(f1));
            FloatVector square =
                    Lanes.load(g + dv).fma(b2s, gradient.mul(gradient).mul(f2));
            Lanes.store(mean, g + dm);
            Lanes.store(square, g + dv);
            Lanes.store(mean.mul(unbias1).div(square.mul(unbias2).sqrt().add(eps)), g);
        }
        for (; g < end; g += 4) {
            float gradient = Lanes.get(g) * scale;
            float mean = Lanes.get(g + dm) * b1 + gradient * f1;
            float square = Lanes.get(g + dv) * b2 + gradient * gradient * f2;
            Lanes.put(g + dm, mean);
            Lanes.put(g + dv, square);
            Lanes.put(g, mean * unbias1 / ((float) Math.sqrt(square * unbias2) + eps));
        }
    }

    private static void sign(long g, long m, float look, float freshLook, float keep, float freshKeep, int n) {
        long dm = m - g, whole = Lanes.whole(g, n), end = Lanes.end(g, n);
        FloatVector looks = Lanes.all(look), keeps = Lanes.all(keep), one = Lanes.all(1), zero = Lanes.zero();
        for (; g < whole; g += Lanes.STEP) {
            FloatVector gradient = Lanes.load(g), mean = Lanes.load(g + dm);
            FloatVector ahead = mean.fma(looks, gradient.mul(freshLook));
            Lanes.store(mean.fma(keeps, gradient.mul(freshKeep)), g + dm);
            FloatVector signs = ahead.blend(one, ahead.compare(VectorOperators.GT, zero)); // a NaN stays
            Lanes.store(signs.blend(one.neg(), ahead.compare(VectorOperators.LT, zero)), g);
        }
        for (; g < end; g += 4) {
            float gradient = Lanes.get(g), mean = Lanes.get(g + dm);
            Lanes.put(g, Math.signum(Math.fma(mean, look, gradient * freshLook)));
            Lanes.put(g + dm, Math.fma(mean, keep, gradient * freshKeep));
        }
    }

    private static void clamp(long g, float scale, float limit, int n) {
        long whole = Lanes.whole(g, n), end = Lanes.end(g, n);
        for (; g < whole; g += Lanes.STEP) {
            Lanes.store(Lanes.load(g).mul(scale).min(limit).max(-limit), g);
        }
        for (; g < end; g += 4) {
            Lanes.put(g, Math.max(-limit, Math.min(limit, Lanes.get(g) * scale)));
        }
    }

    /** w -= lose w + push u: 1 - keep is small, so that as a float it has digits that keep itself would lose. */
    private static void move(long w, long u, float lose, float push, int n) {
        long du = u - w, whole = Lanes.whole(w, n), end = Lanes.end(w, n);
        FloatVector pushes = Lanes.all(push);
        for (; w < whole; w += Lanes.STEP) {
            FloatVector v = Lanes.load(w);
            Lanes.store(v.sub(Lanes.load(w + du).fma(pushes, v.mul(lose))), w);
        }
        for (; w < end; w += 4) {
            float v = Lanes.get(w);
            Lanes.put(w, v - (push * Lanes.get(w + du) + lose * v));
        }
    }
}
