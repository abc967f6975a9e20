package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Polynomial;
import hypertransfer.engine.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The optimizer's operations: each runs over a list of tensors in one launch for every {@link Kernels#MAX_LIST}. */
final class Lists {
    private static final int THREADS = 256, MAX_BLOCKS = 512, PER_THREAD = 8;
    private static final int WORDS = 6; // of an entry: three pointers, the size, two doubles

    private final Device device;
    private final Kernels kernels;
    private final Blas blas;
    private final Scratch scratch;
    private final long base;

    Lists(Device device, Kernels kernels, Blas blas, Scratch scratch, long base) {
        this.device = device;
        this.kernels = kernels;
        this.blas = blas;
        this.scratch = scratch;
        this.base = base;
    }

    /** Up to three tensors of one size, and two numbers. */
    record Entry(long a, long b, long c, long n, double s, double t) {
        static Entry of(Tensor a, Tensor b, double s, double t) {
            return new Entry(pointer(a), pointer(b), 0, same(a, b), s, t);
        }
    }

    static long pointer(Tensor tensor) {
        return ((Block) tensor).pointer();
    }

    /** The size of both. */
    static long same(Tensor a, Tensor b) {
        if (a.size() != b.size()) {
            throw new EngineException(a.name() + " has " + a.size() + " numbers, but " + b.name() + " has " + b.size());
        }
        return a.size();
    }

    static double flag(Tensor tensor) {
        return ((Block) tensor).format() == Precision.BF16 ? 1 : 0;
    }

    /** Blocks for each entry: enough for the largest, and not more than the card can use. */
    static int blocks(List<Entry> entries) {
        long largest = entries.stream().mapToLong(Entry::n).max().orElse(1);
        return (int) Math.clamp((largest + THREADS * PER_THREAD - 1) / (THREADS * PER_THREAD), 1, MAX_BLOCKS);
    }

    /** The words of a launch: all places for entries, and what follows them. */
    static long[] words(List<Entry> entries, long... more) {
        long[] words = new long[Kernels.MAX_LIST * WORDS + more.length];
        int at = 0;
        for (Entry e : entries) {
            words[at++] = e.a;
            words[at++] = e.b;
            words[at++] = e.c;
            words[at++] = e.n;
            words[at++] = Double.doubleToRawLongBits(e.s);
            words[at++] = Double.doubleToRawLongBits(e.t);
        }
        System.arraycopy(more, 0, words, Kernels.MAX_LIST * WORDS, more.length);
        return words;
    }

    void run(String kernel, List<Entry> entries, long... more) {
        for (int from = 0; from < entries.size(); from += Kernels.MAX_LIST) {
            List<Entry> some = entries.subList(from, Math.min(entries.size(), from + Kernels.MAX_LIST));
            kernels.launch(kernel, new Launch(blocks(some), some.size(), 1, THREADS, 1, 0), words(some, more));
        }
    }

    /** Three sums in double for each entry, left on the card one after the other. */
    private void sums(String kernel, List<Entry> entries) {
        if (entries.size() > Scratch.MAX_RESULTS) {
            throw new EngineException(
                    entries.size() + " tensors in one list; " + Scratch.MAX_RESULTS + " is the most this engine sums");
        }
        for (int from = 0; from < entries.size(); from += Kernels.MAX_LIST) {
            List<Entry> some = entries.subList(from, Math.min(entries.size(), from + Kernels.MAX_LIST));
            kernels.launch(
                    kernel,
                    new Launch(Kernels.SHARES, some.size(), 1, THREADS, 1, 0),
                    words(some, base + scratch.sums()));
            kernels.launch(
                    "finish",
                    Launch.of(some.size(), Kernels.SHARES),
                    base + scratch.sums(),
                    base + scratch.results() + 24L * from);
        }
    }

    /** The same, brought to the host: the step's one wait. */
    double[] read(String kernel, List<Entry> entries) {
        sums(kernel, entries);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(JAVA_DOUBLE, 3L * entries.size());
            device.download(base + scratch.results(), host, host.byteSize());
            return host.toArray(JAVA_DOUBLE);
        }
    }

    // ------------------------------------------------------------ Newton-Schulz

    /** Matrices of one shape go together, as many at a time as scratch holds. */
    void orthogonalize(List<Tensor> tensors, Polynomial polynomial) {
        Map<List<Integer>, List<Tensor>> shapes = new LinkedHashMap<>();
        for (Tensor t : tensors) {
            shapes.computeIfAbsent(List.of(t.rows(), t.cols()), s -> new ArrayList<>())
                    .add(t);
        }
        shapes.forEach((shape, same) -> {
            Schulz schulz = Schulz.of(shape.get(0), shape.get(1), polynomial.bf16(), scratch.schulzBytes());
            for (int from = 0; from < same.size(); from += schulz.batch()) {
                orthogonalize(schulz, same.subList(from, Math.min(same.size(), from + schulz.batch())), polynomial);
            }
        });
    }

    private void orthogonalize(Schulz schulz, List<Tensor> tensors, Polynomial polynomial) {
        long x = base + scratch.schulz(), y = x + schulz.bytes(), a = y + schulz.bytes(), b = a + schulz.sideBytes();
        List<Entry> entries = new ArrayList<>();
        for (Tensor t : tensors) {
            long to = x + entries.size() * schulz.stride() * schulz.format().bytes;
            entries.add(new Entry(pointer(t), to, 0, t.size(), 0, polynomial.bf16() ? 1 : 0));
        }
        List<Entry> squares = new ArrayList<>();
        tensors.forEach(t -> squares.add(Entry.of(t, t, 0, 0)));
        sums("readings", squares);
        run("normalize", entries, base + scratch.results());
        Product gram = schulz.gram(tensors.size()),
                square = schulz.square(tensors.size()),
                apply = schulz.apply(tensors.size());
        long from = x, to = y;
        for (Polynomial.Term term : polynomial.terms()) {
            blas.multiply(gram, 1, from, from, 0, a, a);
            blas.multiply(square, term.c(), a, a, term.b(), a, b);
            blas.multiply(apply, 1, schulz.tall() ? b : from, schulz.tall() ? from : b, term.a(), from, to);
            long swap = from;
            from = to;
            to = swap;
        }
        long shift = from - x; // where the last result lies
        run(
                "denormalize",
                entries.stream()
                        .map(e -> new Entry(e.a, e.b + shift, 0, e.n, 0, e.t))
                        .toList());
    }
}
