package hypertransfer.engine.cpu;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.memory.Storage;
import hypertransfer.engine.cpu.vector.Doubles;
import hypertransfer.engine.cpu.vector.Lanes;
import hypertransfer.engine.cpu.vector.Sums;
import java.util.Arrays;
import java.util.List;

/**
 * The optimizer's operations. What is done to every number of many tensors is done in chunks; a piece of other work is one
 * matrix, or one side of it, the costly ones first.
 */
record CpuMotion(Pool pool, NewtonSchulz newtonSchulz, Bases bases) implements Motion {
    private static final int CHUNK = 1 << 15;

    CpuMotion(Pool pool, Dims dims, Storage storage) {
        NewtonSchulz newtonSchulz = new NewtonSchulz(pool, dims, storage);
        this(pool, newtonSchulz, new Bases(pool, dims, storage, newtonSchulz));
    }

    /** What is done to n numbers of the tensors at place k, from number {@code from} on. */
    private interface Chunk {
        void run(int k, long from, int n, int piece);
    }

    /**
     * Tensors in chunks, which follow from their shapes, so that sums come out the same on any number of threads.
     *
     * @param sizes the numbers of each tensor's chunks, of which the last may have fewer
     * @param first the first chunk of each tensor, and how many there are
     */
    private record Chunks(List<Tensor> tensors, int[] sizes, int[] first) {
        /** @param rows whether only whole rows make a chunk */
        static Chunks of(List<Tensor> tensors, boolean rows) {
            int[] sizes = new int[tensors.size()], first = new int[tensors.size() + 1];
            for (int k = 0; k < sizes.length; k++) {
                int cols = tensors.get(k).cols();
                sizes[k] = rows ? Math.max(1, CHUNK / cols) * cols : CHUNK;
                first[k + 1] = first[k] + (int) Math.ceilDiv(tensors.get(k).size(), sizes[k]);
            }
            return new Chunks(tensors, sizes, first);
        }

        int count() {
            return first[sizes.length];
        }

        /** The tensor that a chunk is of. */
        int tensor(int piece) {
            int k = Arrays.binarySearch(first, piece);
            return k < 0 ? -k - 2 : k;
        }
    }

    void zero(List<Tensor> tensors) {
        each(tensors, (k, from, n, piece) -> Lanes.fill(0, at(tensors, k, from), n));
    }

    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        each(g, (k, from, n, piece) -> {
            float fresh = (float) ((1 - beta) * scale[k]);
            Updates.momentum(at(g, k, from), at(m, k, from), (float) beta, fresh, nesterov, n);
        });
    }

    @Override
    public void adam(List<Tensor> g, double[] scale, Moments moments, List<Tensor> m, List<Tensor> v) {
        each(
                g,
                (k, from, n, piece) ->
                        Updates.adam(at(g, k, from), at(m, k, from), at(v, k, from), (float) scale[k], moments, n));
    }

    @Override
    public void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        each(g, (k, from, n, piece) -> {
            float freshLook = (float) ((1 - look) * scale[k]), freshKeep = (float) ((1 - keep) * scale[k]);
            long at = at(g, k, from), mean = at(m, k, from);
            Updates.sign(at, mean, (float) look, freshLook, (float) keep, freshKeep, n);
        });
    }

    @Override
    public void clamp(List<Tensor> g, double[] scale, double limit) {
        each(g, (k, from, n, piece) -> Updates.clamp(at(g, k, from), (float) scale[k], (float) limit, n));
    }

    /** Every chunk's sums apart, then added in order. */
    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
        Chunks chunks = Chunks.of(w, false);
        double[] sums = new double[3 * chunks.count()], readings = new double[3 * w.size()];
        each(chunks, (k, from, n, piece) -> {
            long x = at(w, k, from), y = at(u, k, from);
            boolean exact = exact(w, k), both = exact(u, k);
            sums[3 * piece] = exact ? Doubles.squares(x, n) : Sums.squares(x, n);
            sums[3 * piece + 1] = both ? Doubles.squares(y, n) : Sums.squares(y, n);
            sums[3 * piece + 2] = exact ? Doubles.dot(x, y, both, n) : Sums.dot(x, y, n);
        });
        for (int i = 0; i < sums.length; i++) {
            readings[3 * chunks.tensor(i / 3) + i % 3] += sums[i];
        }
        for (int k = 0; k < w.size(); k++) {
            readings[3 * k] = Math.sqrt(readings[3 * k]);
            readings[3 * k + 1] = Math.sqrt(readings[3 * k + 1]);
        }
        return readings;
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        each(w, (k, from, n, piece) -> {
            if (exact(w, k)) {
                Doubles.move(at(w, k, from), at(u, k, from), keep[k], push[k], n);
            } else {
                Updates.move(at(w, k, from), at(u, k, from), (float) (1 - keep[k]), (float) push[k], n);
            }
        });
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        each(masters, (k, from, n, piece) -> {
            long master = at(masters, k, from), weight = at(weights, k, from);
            if (exact(masters, k)) {
                Doubles.represent(master, scale[k], grid, weight, n);
            } else {
                Lanes.scale((float) scale[k], master, weight, n);
                Doubles.round(weight, grid, n);
            }
        });
    }

    @Override
    public void equalize(List<Tensor> x, double beta, double epsilon, double[] norm, List<Tensor> v) {
        Chunks chunks = Chunks.of(x, true);
        double[] sums = new double[2 * chunks.count()], squares = new double[2 * x.size()]; // of x, and of p
        each(chunks, (k, from, n, piece) -> {
            int cols = x.get(k).cols();
            long at = at(x, k, from);
            if (v.get(k).cols() == cols) {
                sums[2 * piece] = Sums.squares(at, n);
                Updates.equalize(at, at(v, k, from), (float) beta, (float) (1 - beta), (float) epsilon, n);
                sums[2 * piece + 1] = Sums.squares(at, n);
                return;
            }
            for (int row = 0; row < n / cols; row++) {
                long mean = at(v, k, from / cols + row);
                double before = Sums.squares(at + 4L * row * cols, cols);
                float factor = Updates.equalizeRow(at + 4L * row * cols, before, mean, beta, epsilon, cols);
                sums[2 * piece] += before;
                sums[2 * piece + 1] += before * factor * factor;
            }
        });
        for (int i = 0; i < sums.length; i++) {
            squares[2 * chunks.tensor(i / 2) + i % 2] += sums[i];
        }
        each(chunks, (k, from, n, piece) -> {
            double to = norm == null ? Math.sqrt(squares[2 * k]) : norm[k];
            float factor = (float) (to / (Math.sqrt(squares[2 * k + 1]) + epsilon));
            Lanes.scale(factor, at(x, k, from), at(x, k, from), n);
        });
    }

    @Override
    public void cut(Tensor matrix, List<Tensor> blocks, boolean back) {
        Floats whole = (Floats) matrix;
        pool.run(blocks.size(), (piece, worker) -> {
            Floats block = (Floats) blocks.get(piece);
            int across = whole.cols() / block.cols();
            long line = (long) whole.cols() * whole.numberBytes(), bytes = (long) block.cols() * block.numberBytes();
            long inside = whole.at() + piece / across * block.rows() * line + piece % across * bytes, own = block.at();
            for (int row = 0; row < block.rows(); row++, inside += line, own += bytes) {
                Lanes.copy(back ? own : inside, back ? inside : own, bytes);
            }
        });
    }

    @Override
    public void orthogonalize(List<Tensor> x, Iteration iteration) {
        newtonSchulz.run(x, iteration);
    }

    @Override
    public void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right) {
        int[] order = newtonSchulz.order(g);
        pool.run(2 * g.size(), (piece, worker) -> {
            int k = order[piece >> 1];
            boolean cols = (piece & 1) == 1;
            Bases.gram(cols, g.get(k), scale[k], beta, cols ? right.get(k) : left.get(k));
        });
    }

    @Override
    public void rotate(List<Tensor> g, List<Tensor> left, List<Tensor> right, boolean back) {
        int[] order = newtonSchulz.order(g);
        pool.run(g.size(), (piece, worker) -> {
            int k = order[piece];
            bases.rotate(g.get(k), left.get(k), right.get(k), back, worker);
        });
    }

    @Override
    public void refine(List<Tensor> gram, double[] shift, List<Tensor> basis) {
        int[] order = newtonSchulz.order(gram);
        pool.run(gram.size(), (piece, worker) -> {
            int k = order[piece];
            bases.refine(gram.get(k), (float) shift[k], basis.get(k), worker);
        });
    }

    private void each(List<Tensor> tensors, Chunk chunk) {
        each(Chunks.of(tensors, false), chunk);
    }

    private void each(Chunks chunks, Chunk chunk) {
        pool.run(chunks.count(), (piece, worker) -> {
            int k = chunks.tensor(piece), size = chunks.sizes[k];
            long from = (long) (piece - chunks.first[k]) * size;
            chunk.run(k, from, (int) Math.min(size, chunks.tensors.get(k).size() - from), piece);
        });
    }

    private static long at(List<Tensor> list, int k, long from) {
        Floats tensor = (Floats) list.get(k);
        return tensor.at() + tensor.numberBytes() * from;
    }

    private static boolean exact(List<Tensor> list, int k) {
        return ((Floats) list.get(k)).exact();
    }
}
