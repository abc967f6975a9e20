package hypertransfer.engine.cuda;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;
import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.kernel.DeviceTensor;
import hypertransfer.engine.cuda.kernel.Geometry;
import hypertransfer.engine.cuda.kernel.Kernel;
import hypertransfer.engine.cuda.kernel.Kernels;
import hypertransfer.engine.cuda.kernel.Precision;
import hypertransfer.engine.cuda.kernel.Symmetric;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The optimizer's operations: each runs over a list of tensors, one launch per {@link Geometry#MAX_LIST} of them.
 *
 * @param symmetric null where the card does not fit
 */
record CudaMotion(Kernels kernels, Blas blas, Scratch scratch, Bases bases, Symmetric symmetric)
        implements Motion, AutoCloseable {
    /**
     * Up to three tensors of one size, and what a kernel needs to know of them: {@code lists.cu} has the same fields.
     *
     * @param n the numbers of each
     * @param s the scale; the keep of a move
     * @param t the push of a move, or the norm that rescale gives, negative for a's own
     * @param k which formats the tensors have, or how many numbers of a share one of b: see the methods that set it
     */
    record Entry(long a, long b, long c, long n, double s, double t, long k) {
        static Entry of(Tensor a, Tensor b, double s) {
            return new Entry(pointer(a), pointer(b), 0, a.size(), s, 0, 0);
        }

        static Entry of(Tensor a, Tensor b, Tensor c, double s) {
            return new Entry(pointer(a), pointer(b), pointer(c), a.size(), s, 0, 0);
        }

        private Entry second(double factor) {
            return new Entry(a, b, c, n, s, factor, k);
        }

        /** With the format of b, or of a total's a. */
        Entry narrow(Precision format) {
            return with(format == Precision.BF16 ? 1 : 0);
        }

        private Entry with(int k) {
            return new Entry(a, b, c, n, s, t, k);
        }
    }

    /** The words of a launch: all places for entries, and what follows them. */
    static long[] words(List<Entry> entries, Object... more) {
        long[] last = Kernels.words(more), words = new long[Geometry.LIST_WORDS + last.length];
        int at = 0;
        for (Entry e : entries) {
            long[] entry = Kernels.words(e.a, e.b, e.c, e.n, e.s, e.t, e.k);
            System.arraycopy(entry, 0, words, at, entry.length);
            at += entry.length;
        }
        System.arraycopy(last, 0, words, Geometry.LIST_WORDS, last.length);
        return words;
    }

    private static List<Entry> entries(int count, IntFunction<Entry> entry) {
        return IntStream.range(0, count).mapToObj(entry).toList();
    }

    private void run(Kernel kernel, List<Entry> entries, Object... more) {
        for (int from = 0; from < entries.size(); from += Geometry.MAX_LIST) {
            List<Entry> some = some(entries, from);
            long largest = some.stream().mapToLong(Entry::n).max().orElseThrow();
            kernels.queue(kernel, Geometry.list(some.size(), largest), words(some, more));
        }
    }

    private static List<Entry> some(List<Entry> entries, int from) {
        return entries.subList(from, Math.min(entries.size(), from + Geometry.MAX_LIST));
    }

    /** Three sums in double per entry, left on the card one after the other. */
    private void sums(Kernel kernel, List<Entry> entries, Object... more) {
        if (entries.size() > Scratch.MAX_RESULTS) {
            throw new EngineException(
                    entries.size() + " tensors in one list; this engine sums at most " + Scratch.MAX_RESULTS);
        }
        for (int from = 0; from < entries.size(); from += Geometry.MAX_LIST) {
            List<Entry> some = some(entries, from);
            Object[] last =
                    Stream.concat(Arrays.stream(more), Stream.of(scratch.sums)).toArray();
            kernels.queue(kernel, Geometry.sums(some.size()), words(some, last));
            kernels.launch(Kernel.FINISH, Geometry.finish(some.size()), scratch.sums, scratch.results + 24L * from);
        }
    }

    /** The same, copied to the host, which waits for them. */
    double[] read(Kernel kernel, int count, IntFunction<Entry> entry) {
        sums(kernel, entries(count, entry));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(JAVA_DOUBLE, 3L * count);
            kernels.device.download(scratch.results, host);
            return host.toArray(JAVA_DOUBLE);
        }
    }

    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        run(Kernel.MOMENTUM, entries(g.size(), k -> Entry.of(g.get(k), m.get(k), scale[k])), beta, nesterov);
    }

    @Override
    public void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        run(Kernel.SIGN, entries(g.size(), k -> Entry.of(g.get(k), m.get(k), scale[k])), look, keep);
    }

    @Override
    public void clamp(List<Tensor> g, double[] scale, double limit) {
        run(Kernel.CLAMP, entries(g.size(), k -> Entry.of(g.get(k), g.get(k), scale[k])), limit);
    }

    @Override
    public void adam(List<Tensor> g, double[] scale, Moments moments, List<Tensor> m, List<Tensor> v) {
        List<Entry> entries = entries(g.size(), k -> Entry.of(g.get(k), m.get(k), v.get(k), scale[k]));
        double beta1 = moments.beta1(), beta2 = moments.beta2(), epsilon = moments.epsilon();
        run(Kernel.ADAM, entries, beta1, beta2, epsilon, moments.weight1(), moments.weight2());
    }

    @Override
    public void equalize(List<Tensor> x, double beta, double epsilon, double[] norm, List<Tensor> v) {
        List<Entry> all = entries(x.size(), k -> {
            Entry entry = Entry.of(x.get(k), v.get(k), 0).second(norm == null ? -1 : norm[k]);
            return entry.with(x.get(k).cols() / v.get(k).cols()); // so many numbers of x share one of v
        });
        for (int from = 0; from < all.size(); from += Geometry.MAX_LIST) { // both kernels number the sums from 0
            sums(Kernel.EQUALIZE, some(all, from), beta, epsilon);
            run(Kernel.RESCALE, some(all, from), epsilon, scratch.results);
        }
    }

    /** In units of two bytes, so that all formats are one. */
    @Override
    public void cut(Tensor whole, List<Tensor> blocks, boolean back) {
        Tensor first = blocks.getFirst();
        int units = whole.numberBytes() / 2, across = whole.cols() / first.cols();
        long line = (long) whole.cols() * units, cols = (long) first.cols() * units;
        List<Entry> entries = entries(blocks.size(), k -> {
            long inside = pointer(whole) + 2 * (k / across * first.rows() * line + k % across * cols);
            return new Entry(pointer(blocks.get(k)), inside, 0, first.size() * units, 0, 0, 0);
        });
        run(Kernel.BLOCKS, entries, cols, line, back);
    }

    @Override
    public void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right) {
        bases.gram(g, scale, beta, left, right);
    }

    @Override
    public void rotate(List<Tensor> g, List<Tensor> left, List<Tensor> right, boolean back) {
        for (int k = 0; k < g.size(); k++) {
            bases.rotate((DeviceTensor) g.get(k), left.get(k), right.get(k), back);
        }
    }

    @Override
    public void refine(List<Tensor> gram, double[] shift, List<Tensor> basis) {
        bases.refine(gram, shift, basis);
    }

    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
        double[] sums = read(Kernel.READINGS, w.size(), k -> {
            Entry entry = Entry.of(w.get(k), u.get(k), 0);
            return entry.with((exact(w.get(k)) ? 1 : 0) + (exact(u.get(k)) ? 1 : 0)); // how many are in double
        });
        for (int k = 0; k < w.size(); k++) {
            sums[3 * k] = Math.sqrt(sums[3 * k]);
            sums[3 * k + 1] = Math.sqrt(sums[3 * k + 1]);
        }
        return sums;
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        IntFunction<Entry> entry = k -> Entry.of(w.get(k), u.get(k), keep[k]).second(push[k]);
        split(Kernel.MOVE, Kernel.MOVE_EXACT, w, _ -> true, entry);
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        for (Precision format : Precision.values()) { // a grid is coarser than one format, and finer than another
            IntPredicate some = k -> ((DeviceTensor) weights.get(k)).format() == format;
            IntFunction<Entry> entry =
                    k -> Entry.of(masters.get(k), weights.get(k), scale[k]).narrow(format);
            double splitter = grid < format.mantissa ? Format.splitter(grid) : 0;
            split(Kernel.REPRESENT, Kernel.REPRESENT_EXACT, masters, some, entry, splitter);
        }
    }

    /** One kernel for masters in float32, another for exact ones. */
    private void split(
            Kernel kernel,
            Kernel exact,
            List<Tensor> masters,
            IntPredicate some,
            IntFunction<Entry> entry,
            Object... more) {
        for (boolean exactly : new boolean[] {false, true}) {
            List<Entry> entries = IntStream.range(0, masters.size())
                    .filter(some)
                    .filter(k -> exact(masters.get(k)) == exactly)
                    .mapToObj(entry)
                    .toList();
            run(exactly ? exact : kernel, entries, more);
        }
    }

    private static boolean exact(Tensor tensor) {
        return ((DeviceTensor) tensor).format() == Precision.FLOAT64;
    }

    // ------------------------------------------------------------ Newton-Schulz

    /** Matrices of one shape go together, as many at a time as scratch holds. */
    @Override
    public void orthogonalize(List<Tensor> tensors, Iteration iteration) {
        Map<List<Integer>, List<Tensor>> shapes = new LinkedHashMap<>();
        for (Tensor t : tensors) {
            shapes.computeIfAbsent(List.of(t.rows(), t.cols()), s -> new ArrayList<>())
                    .add(t);
        }
        shapes.forEach((shape, same) -> {
            SchulzBatch schulz = SchulzBatch.of(shape.get(0), shape.get(1), iteration.bf16(), scratch.schulzBytes);
            for (int from = 0; from < same.size(); from += schulz.batch()) {
                orthogonalize(schulz, same.subList(from, Math.min(same.size(), from + schulz.batch())), iteration);
            }
        });
    }

    private void orthogonalize(SchulzBatch schulz, List<Tensor> tensors, Iteration iteration) {
        int count = tensors.size();
        long x = scratch.schulz, y = x + schulz.bytes(), a = y + schulz.bytes(), b = a + schulz.sideBytes();
        sums(Kernel.READINGS, entries(count, k -> Entry.of(tensors.get(k), tensors.get(k), 0)));
        run(Kernel.NORMALIZE, entries(count, k -> schulz.entry(tensors.get(k), x, k)), scratch.results);
        Product gram = schulz.gram(count), square = schulz.square(count), apply = schulz.apply(count);
        boolean half =
                symmetric != null && schulz.format() == Precision.BF16 && Symmetric.fits(schulz.rows(), schulz.cols());
        long from = x, to = y;
        for (Iteration.Step step : iteration.steps()) {
            if (half) {
                symmetric.gram(schulz.rows(), schulz.cols(), count, from, a);
                symmetric.square(schulz.side(), count, step.c(), a, step.b(), b);
            } else {
                blas.multiply(gram, 1, from, from, 0, a, a);
                blas.multiply(square, step.c(), a, a, step.b(), a, b);
            }
            blas.multiply(apply, 1, schulz.tall() ? b : from, schulz.tall() ? from : b, step.a(), from, to);
            long swap = from;
            from = to;
            to = swap;
        }
        long last = from;
        run(Kernel.DENORMALIZE, entries(count, k -> schulz.entry(tensors.get(k), last, k)));
    }

    @Override
    public void close() {
        bases.close();
    }
}
