package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Iteration;
import hypertransfer.engine.Moments;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.loop.Numbers;
import hypertransfer.engine.cpu.loop.Rows;
import hypertransfer.engine.cpu.memory.Blocks;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.thread.Twin;
import hypertransfer.engine.cpu.vector.Doubles;
import hypertransfer.engine.cpu.vector.Lanes;
import hypertransfer.engine.cpu.vector.Sums;
import java.util.List;

/**
 * The optimizer's operations. What is done to every number of many tensors is done in chunks of a fixed size, each a task
 * of its own: in one method they are more than the compiler inlines, and their vectors become objects.
 */
final class Lists implements Motion {
    private static final int CHUNK = 1 << 15;

    private final Pool pool;
    private final NewtonSchulz newtonSchulz;
    private final Bases bases;
    private List<Tensor> a, b, c;
    private double[] f, g; // factors
    private double beta;
    private boolean nesterov;
    private Moments moments;
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
    private final Task read =
            new Twin(this::readLoops, this::read, piece -> !exact(a, tensor(piece)) && !exact(b, tensor(piece)));
    private final Task move = new Twin(
            this::moveLoops, this::move, piece -> !exact(a, tensor(piece)) && Rows.whole(length(tensor(piece), piece)));

    Lists(Pool pool, Dims dims, Blocks blocks) {
        this.pool = pool;
        newtonSchulz = new NewtonSchulz(pool, dims, blocks);
        bases = new Bases(pool, dims, blocks, newtonSchulz);
    }

    void zero(List<Tensor> tensors) {
        run(zero, tensors, tensors, tensors);
    }

    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        this.f = scale;
        this.beta = beta;
        this.nesterov = nesterov;
        run(momentum, g, m, m);
    }

    @Override
    public void adam(List<Tensor> g, double[] scale, Moments moments, List<Tensor> m, List<Tensor> v) {
        this.f = scale;
        this.moments = moments;
        run(adam, g, m, v);
    }

    @Override
    public void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        Task sign = (piece, worker) -> {
            int k = tensor(piece);
            float freshLook = (float) ((1 - look) * scale[k]), freshKeep = (float) ((1 - keep) * scale[k]);
            long at = at(a, k, piece), mean = at(b, k, piece);
            Updates.sign(at, mean, (float) look, freshLook, (float) keep, freshKeep, length(k, piece));
        };
        run(sign, g, m, m);
    }

    @Override
    public void clamp(List<Tensor> g, double[] scale, double limit) {
        Task clamp = (piece, worker) -> {
            int k = tensor(piece);
            Updates.clamp(at(a, k, piece), (float) scale[k], (float) limit, length(k, piece));
        };
        run(clamp, g, g, g);
    }

    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
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

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        this.f = keep;
        this.g = push;
        run(move, w, u, u);
        Twin.stepped();
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        Task represent = (piece, worker) -> {
            int k = tensor(piece), n = length(k, piece);
            long from = at(a, k, piece), to = at(b, k, piece);
            if (exact(a, k)) {
                Doubles.represent(from, scale[k], grid, to, n);
            } else {
                Lanes.scale((float) scale[k], from, to, n);
                Doubles.round(to, grid, n);
            }
        };
        run(represent, masters, weights, weights);
    }

    @Override
    public void equalize(List<Tensor> x, double beta, double epsilon, double[] norm, List<Tensor> v) {
        Equalizer.run(pool, x, beta, epsilon, norm, v);
    }

    @Override
    public void cut(Tensor whole, List<Tensor> blocks) {
        copy((Floats) whole, blocks, false);
    }

    @Override
    public void join(List<Tensor> blocks, Tensor whole) {
        copy((Floats) whole, blocks, true);
    }

    private void copy(Floats whole, List<Tensor> blocks, boolean back) {
        Task copy = (piece, worker) -> {
            Floats block = (Floats) blocks.get(piece);
            int across = whole.cols() / block.cols();
            long line = (long) whole.cols() * whole.numberBytes(), bytes = (long) block.cols() * block.numberBytes();
            long inside = whole.at() + piece / across * block.rows() * line + piece % across * bytes, own = block.at();
            for (int row = 0; row < block.rows(); row++, inside += line, own += bytes) {
                Lanes.copy(back ? own : inside, back ? inside : own, bytes);
            }
        };
        pool.run(copy, blocks.size());
    }

    @Override
    public void orthogonalize(List<Tensor> x, Iteration iteration) {
        newtonSchulz.run(x, iteration);
    }

    @Override
    public void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right) {
        bases.gram(g, scale, beta, left, right);
    }

    @Override
    public void rotate(List<Tensor> g, List<Tensor> left, List<Tensor> right, boolean back) {
        bases.rotate(g, left, right, back);
    }

    @Override
    public void refine(List<Tensor> gram, double[] shift, List<Tensor> basis) {
        bases.refine(gram, shift, basis);
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
        float kept = (float) beta, fresh = (float) ((1 - beta) * f[k]);
        if (loops && Rows.whole(n)) {
            Numbers.momentum(at(a, k, piece), at(b, k, piece), kept, fresh, nesterov, n);
        } else {
            Updates.momentum(at(a, k, piece), at(b, k, piece), kept, fresh, nesterov, n);
        }
    }

    private void adam(int piece, boolean loops) {
        int k = tensor(piece), n = length(k, piece);
        long g = at(a, k, piece), m = at(b, k, piece), v = at(c, k, piece);
        if (loops && Rows.whole(n)) {
            Numbers.adam(g, m, v, (float) f[k], moments, n);
        } else {
            Updates.adam(g, m, v, (float) f[k], moments, n);
        }
    }

    private void read(int piece, int worker) {
        int k = tensor(piece), n = length(k, piece);
        long x = at(a, k, piece), y = at(b, k, piece);
        boolean exactly = exact(a, k), both = exact(b, k);
        partial[3 * piece] = exactly ? Doubles.squares(x, n) : Sums.squares(x, n);
        partial[3 * piece + 1] = both ? Doubles.squares(y, n) : Sums.squares(y, n);
        partial[3 * piece + 2] = exactly ? Doubles.dot(x, y, both, n) : Sums.dot(x, y, n);
    }

    private void readLoops(int piece, int worker) {
        int k = tensor(piece), n = length(k, piece);
        long x = at(a, k, piece), y = at(b, k, piece);
        partial[3 * piece] = Numbers.dot(x, x, n);
        partial[3 * piece + 1] = Numbers.dot(y, y, n);
        partial[3 * piece + 2] = Numbers.dot(x, y, n);
    }

    private void move(int piece, int worker) {
        int k = tensor(piece), n = length(k, piece);
        if (exact(a, k)) {
            Doubles.move(at(a, k, piece), at(b, k, piece), f[k], g[k], n);
        } else {
            Updates.move(at(a, k, piece), at(b, k, piece), (float) (1 - f[k]), (float) g[k], n);
        }
    }

    private void moveLoops(int piece, int worker) {
        int k = tensor(piece);
        Numbers.move(at(a, k, piece), at(b, k, piece), (float) (1 - f[k]), (float) g[k], length(k, piece));
    }
}
