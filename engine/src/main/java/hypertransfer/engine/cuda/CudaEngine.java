package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Polynomial;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * One NVIDIA card: our kernels, compiled on it, and cuBLASLt. All work is queued on one stream; only {@link #read},
 * {@link #readings}, {@link #sum} and {@link #logits} wait for it.
 */
public final class CudaEngine implements Engine {
    private static final int THREADS = 256;
    private static final long MARGIN = 256L << 20; // what the driver and cuBLASLt take for themselves

    private final Dims dims;
    private final Precision precision;
    private final Device device;
    private final Kernels kernels;
    private final Blas blas;
    private final Map<Role, List<Block>> declared = new EnumMap<>(Role.class);
    private final List<Long> blocks = new ArrayList<>();
    private Scratch scratch;
    private long base;
    private Feed feed;
    private Lists lists;

    public CudaEngine(Dims dims, Precision precision) {
        this.dims = dims;
        this.precision = precision;
        Driver driver = new Driver();
        List<Path> folders = Library.folders(System.getenv(), Path.of("/"));
        Library nvrtc = Library.find("libnvrtc.so", driver.release(), folders);
        Library lt = Library.find("libcublasLt.so", driver.release(), folders);
        device = new Device(driver);
        Cache cache = Cache.of(System.getenv());
        kernels = new Kernels(device, new Nvrtc(nvrtc), cache, dims, precision);
        blas = new Blas(device, lt, cache);
    }

    /** Empty where this machine can run the engine; else the one thing that would make it work. */
    public static Optional<String> missing() {
        try {
            Driver driver = new Driver();
            List<Path> folders = Library.folders(System.getenv(), Path.of("/"));
            Library.find("libnvrtc.so", driver.release(), folders).open();
            Library.find("libcublasLt.so", driver.release(), folders).open();
            return Optional.empty();
        } catch (EngineException e) {
            return Optional.of(e.getMessage());
        }
    }

    @Override
    public String name() {
        return "cuda";
    }

    @Override
    public Dims dims() {
        return dims;
    }

    @Override
    public boolean separateWeights() {
        return true;
    }

    // ------------------------------------------------------------------ memory

    @Override
    public Tensor tensor(Role role, String name, int rows, int cols) {
        Block block = new Block(name, rows, cols, format(role, rows, cols, dims, precision));
        declared.computeIfAbsent(role, r -> new ArrayList<>()).add(block);
        return block;
    }

    /**
     * Weights are in the engine's precision, but for the gains, which are few. Activations are too where they are as wide
     * as the network; what has a number a row or a head (a norm's factor, a loss, a logarithm) is float32. No such width is
     * a multiple of C, since heads are at least two wide.
     */
    static Precision format(Role role, int rows, int cols, Dims dims, Precision precision) {
        boolean narrow = switch (role) {
            case WEIGHT -> rows > 1;
            case ACTIVATION, SCRATCH -> cols % dims.C() == 0;
            case MASTER, GRADIENT, STATE -> false;
        };
        return narrow ? precision : Precision.FLOAT32;
    }

    @Override
    public Memory commit() {
        Map<Role, List<Block>> fresh = new EnumMap<>(Role.class);
        declared.forEach((role, all) ->
                fresh.put(role, all.stream().filter(block -> !block.placed()).toList()));
        boolean first = scratch == null;
        if (first) {
            scratch = Scratch.of(dims, precision, largest(Tensor::size), largest(t -> Math.min(t.rows(), t.cols())));
        }
        long need = Planner.memory(fresh, first ? scratch.bytes() : 0).total(), free = device.free() - MARGIN;
        Memory memory = Planner.memory(declared, scratch.bytes());
        if (need > free) {
            throw new EngineException(Planner.refusal(
                    memory, free, dims, precision, largest(Tensor::size), largest(t -> Math.min(t.rows(), t.cols()))));
        }
        fresh.values().forEach(this::place);
        if (first) {
            base = take(scratch.bytes());
            blas.workspace(base + scratch.blas());
            feed = new Feed(device, dims.N(), dims.V(), base + scratch.tokens());
            lists = new Lists(device, kernels, blas, scratch, base);
            turns();
        }
        return memory;
    }

    /** Of the matrices that Newton-Schulz may meet: gradients, without those of the vocabulary. */
    private long largest(ToDoubleFunction<Tensor> measure) {
        return (long) declared.getOrDefault(Role.GRADIENT, List.of()).stream()
                .filter(t -> t.rows() > 1 && t.rows() != dims.V())
                .mapToDouble(measure)
                .max()
                .orElse(0);
    }

    private void place(List<Block> fresh) {
        long bytes = fresh.stream().mapToLong(b -> Scratch.aligned(b.bytes())).sum();
        if (bytes > 0) {
            long at = take(bytes);
            for (Block block : fresh) {
                block.place(at);
                at += Scratch.aligned(block.bytes());
            }
        }
    }

    private long take(long bytes) {
        long pointer = device.allocate(bytes);
        blocks.add(pointer);
        device.zero(pointer, bytes);
        return pointer;
    }

    /** The rotary embedding's angles, in double here, so that no kernel needs a cosine. */
    private void turns() {
        int half = dims.D() / 2;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(JAVA_FLOAT, 2L * dims.T() * half);
            for (int t = 0; t < dims.T(); t++) {
                for (int i = 0; i < half; i++) {
                    double angle = t * Math.pow(10000, -(double) i / half);
                    host.setAtIndex(JAVA_FLOAT, 2L * (t * half + i), (float) Math.cos(angle));
                    host.setAtIndex(JAVA_FLOAT, 2L * (t * half + i) + 1, (float) Math.sin(angle));
                }
            }
            device.upload(host, base + scratch.turns(), host.byteSize());
            device.synchronize();
        }
    }

    @Override
    public void write(Tensor tensor, double[] values) {
        Block block = (Block) tensor;
        require(values.length == block.size(), "%d values for %s", values.length, text(block));
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(block.bytes(), 64);
            Host.encode(values, block.format(), host);
            device.upload(host, block.pointer(), host.byteSize());
            device.synchronize();
        }
    }

    @Override
    public double[] read(Tensor tensor) {
        Block block = (Block) tensor;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(block.bytes(), 64);
            device.download(block.pointer(), host, host.byteSize());
            return Host.decode(host, block.format(), Math.toIntExact(block.size()));
        }
    }

    @Override
    public void zero(List<Tensor> tensors) {
        tensors.forEach(t -> device.zero(Lists.pointer(t), ((Block) t).bytes()));
    }

    @Override
    public void close() {
        device.synchronize();
        System.err.print(device.profile().table());
        if (feed != null) {
            feed.close();
        }
        blocks.forEach(device::free);
        blocks.clear();
        blas.close();
        kernels.close();
        device.close();
    }

    // ----------------------------------------------------------------- network

    @Override
    public void feed(int[] inputs, int[] targets) {
        require(
                inputs.length == dims.N() && targets.length == dims.N(),
                "%d inputs and %d targets for %d tokens",
                inputs.length,
                targets.length,
                dims.N());
        for (int[] tokens : List.of(inputs, targets)) {
            for (int token : tokens) {
                require(token >= 0 && token < dims.V(), "token %d in a vocabulary of %d", token, dims.V());
            }
        }
        feed.send(inputs, targets);
    }

    @Override
    public void embed(Tensor w, Tensor x) {
        shape(w, dims.V(), dims.C());
        shape(x, dims.N(), dims.C());
        kernels.launch("embed", Launch.each(x.size() / vector(dims.C()), THREADS), p(w), feed.inputs(), p(x), dims.N());
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        shape(dx, dims.N(), dims.C());
        shape(dw, dims.V(), dims.C());
        int vector = vector(dims.C()),
                columns = Math.min(128, (dims.C() / vector + 31) / 32 * 32),
                rows = 512 / columns;
        kernels.launch(
                "embed_backward",
                new Launch(feed.distinct(), 1, 1, columns, rows, columns * rows * vector * Float.BYTES),
                p(dx),
                feed.inputs(),
                feed.order(),
                feed.starts(),
                p(dw));
    }

    @Override
    public void product(Tensor x, Tensor w, Tensor y) {
        shape(w, y.cols(), x.cols());
        shape(y, x.rows(), w.rows());
        // Row after row here is column after column there: y^T = w x^T.
        multiply(true, false, w.rows(), x.rows(), x.cols(), w, x, 0, y);
    }

    @Override
    public void productInput(Tensor dy, Tensor w, Tensor dx) {
        shape(w, dy.cols(), dx.cols());
        shape(dx, dy.rows(), w.cols());
        multiply(false, false, w.cols(), dy.rows(), w.rows(), w, dy, 0, dx);
    }

    @Override
    public void productWeight(Tensor dy, Tensor x, Tensor dw) {
        shape(dw, dy.cols(), x.cols());
        shape(x, dy.rows(), dw.cols());
        multiply(false, true, x.cols(), dy.cols(), x.rows(), x, dy, 1, dw);
    }

    private void multiply(
            boolean flipA, boolean flipB, int m, int n, int k, Tensor a, Tensor b, double keep, Tensor c) {
        multiply(flipA, flipB, m, n, k, p(a), p(b), keep, p(c), ((Block) c).format());
    }

    private void multiply(
            boolean flipA, boolean flipB, int m, int n, int k, long a, long b, double keep, long c, Precision out) {
        Product product = Product.of(flipA, flipB, m, n, k, precision, out, Product.alignment(a, b, c));
        blas.multiply(product, 1, a, b, keep, c, c);
    }

    @Override
    public void norm(Tensor x, Tensor gain, Tensor y, Tensor r) {
        shape(gain, 1, dims.C());
        shape(y, x.rows(), dims.C());
        kernels.launch("row_norm", manyRows(x), p(x), 0, 0, 0, p(gain), p(y), p(r), x.rows());
    }

    @Override
    public void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor y, Tensor r) {
        shape(gain, 1, dims.C());
        shape(z, h.rows(), dims.C());
        shape(out, h.rows(), dims.C());
        shape(y, h.rows(), dims.C());
        kernels.launch("row_norm", manyRows(h), p(h), p(z), p(zr), p(out), p(gain), p(y), p(r), h.rows());
    }

    @Override
    public void normBackward(Tensor dy, Tensor x, Tensor gain, Tensor r, Tensor dx, Tensor dgain) {
        normBackward(dy, x, gain, r, null, dx, null, null, null, dgain);
    }

    @Override
    public void residualNormBackward(
            Tensor dy, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor r, Tensor dh, Tensor dz, Tensor dgain) {
        normBackward(dy, out, gain, r, dh, dh, zr == null ? null : z, zr, zr == null ? null : dz, dgain);
    }

    private void normBackward(
            Tensor dy,
            Tensor x,
            Tensor gain,
            Tensor r,
            Tensor dh,
            Tensor dx,
            Tensor z,
            Tensor zr,
            Tensor dz,
            Tensor dg) {
        shape(dy, x.rows(), dims.C());
        shape(dx, x.rows(), dims.C());
        shape(dg, 1, dims.C());
        long partial = base + scratch.partial();
        Launch rows = rows(x);
        kernels.launch(
                "row_norm_backward",
                rows,
                p(dy),
                p(x),
                p(gain),
                p(r),
                p(dh),
                p(dx),
                p(z),
                p(zr),
                p(dz),
                partial,
                x.rows());
        kernels.launch("columns", new Launch((dims.C() + 31) / 32, 1, 1, 32, 8, 0), partial, p(dg), rows.x());
    }

    /** The launch of a kernel of rows.cu: threads as its Row has them, so many blocks that each walks over some rows. */
    private Launch rows(Tensor x) {
        int lanes = lanes(x.cols() / vector(x.cols())), threads = Math.max(THREADS, lanes);
        return Launch.of(Math.min(Scratch.ROW_BLOCKS, (x.rows() * (long) lanes + threads - 1) / threads), threads);
    }

    /** Threads that hold a row of so many chunks. */
    static int lanes(int chunks) {
        int lanes = 32;
        while (lanes < 1024 && lanes * 4 < chunks) {
            lanes *= 2;
        }
        return lanes;
    }

    /** Numbers in one access of a row: at most 16 bytes, and a divisor of the row. */
    private int vector(int cols) {
        int vector = 16 / precision.bytes;
        while (cols % vector != 0) {
            vector /= 2;
        }
        return vector;
    }

    @Override
    public void heads(Tensor qkv, Tensor r, boolean normV) {
        shape(qkv, dims.N(), 3 * dims.C());
        shape(r, dims.N(), 3 * dims.H());
        long count = headCount(normV);
        kernels.launch("heads", headLaunch(count), p(qkv), p(r), base + scratch.turns(), normV ? 3 : 2, count);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, boolean normV) {
        shape(dqkv, dims.N(), 3 * dims.C());
        long count = headCount(normV);
        kernels.launch(
                "heads_backward",
                headLaunch(count),
                p(dqkv),
                p(qkv),
                p(r),
                base + scratch.turns(),
                normV ? 3 : 2,
                count);
    }

    private long headCount(boolean normV) {
        return (long) dims.N() * dims.H() * (normV ? 3 : 2);
    }

    /** Threads for a head: the power of two that its chunks fill, at most a warp. */
    private Launch headLaunch(long heads) {
        int chunks = dims.D() / 2 / vector(dims.D() / 2), lanes = 1;
        while (lanes < 32 && lanes < chunks) {
            lanes *= 2;
        }
        return Launch.each(heads * lanes, THREADS);
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        shape(qkv, dims.N(), 3 * dims.C());
        shape(o, dims.N(), dims.C());
        shape(lse, dims.N(), dims.H());
        if (Kernels.flash(dims, precision)) {
            kernels.launch("flash", new Flash(dims, kernels.stages()).forward(), p(qkv), p(o), p(lse));
        } else {
            kernels.launch("attention", warps(), p(qkv), p(o), p(lse), (long) dims.N() * dims.H());
        }
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        shape(dO, dims.N(), dims.C());
        shape(dqkv, dims.N(), 3 * dims.C());
        long count = (long) dims.N() * dims.H(), delta = base + scratch.delta();
        kernels.launch("attention_delta", Launch.each(16 * count, THREADS), p(o), p(dO), delta, count);
        if (Kernels.flash(dims, precision)) {
            Flash flash = new Flash(dims, kernels.stages());
            kernels.launch("flash_key", flash.key(), p(qkv), p(lse), delta, p(dO), p(dqkv));
            kernels.launch("flash_query", flash.query(), p(qkv), p(lse), delta, p(dO), p(dqkv));
        } else {
            kernels.launch("attention_query", warps(), p(qkv), p(lse), delta, p(dO), p(dqkv), count);
            kernels.launch("attention_key", warps(), p(qkv), p(lse), delta, p(dO), p(dqkv), count);
        }
    }

    /** A warp for each row and head, four to a block. */
    private Launch warps() {
        return Launch.each(32L * dims.N() * dims.H(), 128);
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s) {
        shape(f, f.rows(), 4 * dims.C());
        shape(s, f.rows(), f.cols());
        kernels.launch("activation", manyRows(f), p(f), p(fr), p(s), f.rows());
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds) {
        shape(f, f.rows(), 4 * dims.C());
        shape(ds, f.rows(), f.cols());
        kernels.launch("activation_backward", manyRows(f), p(f), p(fr), p(ds), f.rows());
    }

    /** As rows, without the limit that a gain's shares set. */
    private Launch manyRows(Tensor x) {
        int lanes = lanes(x.cols() / vector(x.cols())), threads = Math.max(THREADS, lanes);
        return Launch.of((x.rows() * (long) lanes + threads - 1) / threads, threads);
    }

    @Override
    public void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        shape(x, dims.N(), dims.C());
        shape(w, dims.V(), dims.C());
        shape(losses, dims.N(), 1);
        int C = dims.C(), V = dims.V();
        long logits = base + scratch.logits();
        for (int from = 0; from < dims.N(); from += scratch.chunk()) {
            int rows = Math.min(scratch.chunk(), dims.N() - from);
            long row = (long) from * C * precision.bytes;
            multiply(true, false, V, rows, C, p(w), p(x) + row, 0, logits, precision);
            kernels.launch(
                    "softmax",
                    Launch.of(rows, 1024),
                    logits,
                    feed.targets() + 4L * from,
                    p(losses) + 4L * from,
                    Double.doubleToRawLongBits(dx == null ? 0 : scale));
            if (dx != null) {
                multiply(false, false, C, rows, V, p(w), logits, 0, p(dx) + row, precision);
                multiply(false, true, C, V, rows, p(x) + row, logits, 1, p(dw), Precision.FLOAT32);
            }
        }
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        shape(w, dims.V(), dims.C());
        long at = base + scratch.row();
        kernels.launch(
                "logits",
                Launch.each(32L * dims.V(), THREADS),
                p(x) + (long) row * dims.C() * precision.bytes,
                p(w),
                at);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(JAVA_FLOAT, dims.V());
            device.download(at, host, host.byteSize());
            return Host.decode(host, Precision.FLOAT32, dims.V());
        }
    }

    @Override
    public double sum(Tensor tensor) {
        return lists.read("total", List.of(Lists.Entry.of(tensor, tensor, 0, Lists.flag(tensor))))[0];
    }

    // --------------------------------------------------------------- optimizer

    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        lists.run(
                "momentum",
                each(g.size(), k -> Lists.Entry.of(g.get(k), m.get(k), scale[k], 0)),
                Double.doubleToRawLongBits(beta),
                nesterov ? 1 : 0);
    }

    @Override
    public void adam(
            List<Tensor> g,
            double[] scale,
            double beta1,
            double beta2,
            double epsilon,
            long t,
            List<Tensor> m,
            List<Tensor> v) {
        lists.run(
                "adam",
                each(
                        g.size(),
                        k -> new Lists.Entry(
                                p(g.get(k)), p(m.get(k)), p(v.get(k)), Lists.same(g.get(k), v.get(k)), scale[k], 0)),
                Double.doubleToRawLongBits(beta1),
                Double.doubleToRawLongBits(beta2),
                Double.doubleToRawLongBits(epsilon),
                Double.doubleToRawLongBits(1 - Math.pow(beta1, t)),
                Double.doubleToRawLongBits(1 - Math.pow(beta2, t)));
    }

    @Override
    public void orthogonalize(List<Tensor> x, Polynomial polynomial) {
        lists.orthogonalize(x, polynomial);
    }

    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
        double[] sums = lists.read("readings", each(w.size(), k -> Lists.Entry.of(w.get(k), u.get(k), 0, 0)));
        for (int k = 0; k < w.size(); k++) {
            sums[3 * k] = Math.sqrt(sums[3 * k]);
            sums[3 * k + 1] = Math.sqrt(sums[3 * k + 1]);
        }
        return sums;
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        lists.run("move", each(w.size(), k -> Lists.Entry.of(w.get(k), u.get(k), keep[k], push[k])));
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, List<Tensor> weights) {
        lists.run(
                "represent",
                each(
                        masters.size(),
                        k -> Lists.Entry.of(masters.get(k), weights.get(k), scale[k], Lists.flag(weights.get(k)))));
    }

    private static List<Lists.Entry> each(int count, java.util.function.IntFunction<Lists.Entry> entry) {
        return IntStream.range(0, count).mapToObj(entry).toList();
    }

    // ------------------------------------------------------------------ checks

    /** Its address; 0 for none. */
    private static long p(Tensor tensor) {
        return tensor == null ? 0 : Lists.pointer(tensor);
    }

    private static String text(Tensor t) {
        return t.name() + " (" + t.rows() + "," + t.cols() + ")";
    }

    private static void shape(Tensor t, int rows, int cols) {
        if (t.rows() != rows || t.cols() != cols) {
            throw new EngineException(text(t) + " where (" + rows + "," + cols + ") belongs");
        }
    }

    private static void require(boolean holds, String message, Object... values) {
        if (!holds) {
            throw new EngineException(String.format(message, values));
        }
    }
}
