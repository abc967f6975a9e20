package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Polynomial;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.IntStream;

/**
 * One NVIDIA card: our kernels, compiled on it, and cuBLASLt. All work is queued on one stream; only {@link #read},
 * {@link #readings}, {@link #sum} and {@link #logits} wait for it.
 */
public final class CudaEngine implements Engine {
    private final Dims dims;
    private final Precision precision;
    private final Device device;
    private final Kernels kernels;
    private final Blas blas;
    private final Storage storage;
    private final Geometry geometry;
    private final Graphs graphs;
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
        storage = new Storage(device, dims, precision);
        geometry = new Geometry(dims, precision);
        graphs = new Graphs(device);
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
        return precision == Precision.BF16 ? "cuda" : "cuda-float32";
    }

    @Override
    public Dims dims() {
        return dims;
    }

    @Override
    public Format weights() {
        return precision == Precision.BF16 ? Format.BF16 : Format.FLOAT32;
    }

    @Override
    public boolean separateWeights() {
        return true;
    }

    // ------------------------------------------------------------------ memory

    @Override
    public Tensor tensor(Role role, String name, int rows, int cols) {
        return storage.declare(role, name, rows, cols);
    }

    @Override
    public Tensor slice(Tensor whole, String name, int from, int rows) {
        return ((Block) whole).slice(name, from, rows);
    }

    @Override
    public Memory commit() {
        Memory memory = storage.commit();
        if (feed == null) {
            blas.workspace(at(storage.scratch().blas()));
            feed = new Feed(device, dims.N(), dims.V(), at(storage.scratch().tokens()));
            lists = new Lists(device, kernels, blas, storage.scratch(), storage.base());
            turns();
        }
        return memory;
    }

    /** A place in scratch. */
    private long at(long offset) {
        return storage.base() + offset;
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
            device.upload(host, at(storage.scratch().turns()), host.byteSize());
            device.synchronize();
        }
    }

    @Override
    public void write(Tensor tensor, double[] values) {
        storage.write(tensor, values);
    }

    @Override
    public double[] read(Tensor tensor) {
        return storage.read(tensor);
    }

    @Override
    public void zero(List<Tensor> tensors) {
        tensors.forEach(t -> device.zero(p(t), ((Block) t).bytes()));
    }

    @Override
    public void close() {
        device.synchronize();
        System.err.print(device.profile().table());
        if (feed != null) {
            feed.close();
        }
        graphs.close();
        storage.close();
        blas.close();
        kernels.close();
        device.close();
    }

    // ----------------------------------------------------------------- network

    @Override
    public void feed(int[] inputs, int[] targets) {
        feed.send(inputs, targets);
    }

    @Override
    public void replay(String name, Runnable operations) {
        graphs.run(name, operations);
    }

    @Override
    public void embed(Tensor w, Tensor x) {
        kernels.launch("embed", geometry.embed(), p(w), feed.inputs(), p(x), dims.N());
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        kernels.launch(
                "embed_backward",
                geometry.embedBackward(feed.distinct()),
                p(dx),
                feed.inputs(),
                feed.order(),
                feed.starts(),
                p(dw));
    }

    @Override
    public void product(Tensor x, Tensor w, Tensor y) {
        // Row after row here is column after column there: y^T = w x^T.
        multiply(true, false, w.rows(), x.rows(), x.cols(), w, x, 0, y);
    }

    @Override
    public void productInput(Tensor dy, Tensor w, Tensor dx) {
        multiply(false, false, w.cols(), dy.rows(), w.rows(), w, dy, 0, dx);
    }

    @Override
    public void productWeight(Tensor dy, Tensor x, Tensor dw) {
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
        kernels.launch("row_norm", geometry.rows(x.rows(), x.cols()), p(x), 0, 0, 0, p(gain), p(y), p(r), x.rows());
    }

    @Override
    public void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor y, Tensor r) {
        kernels.launch(
                "row_norm",
                geometry.rows(h.rows(), h.cols()),
                p(h),
                p(z),
                p(zr),
                p(out),
                p(gain),
                p(y),
                p(r),
                h.rows());
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
        long partial = at(storage.scratch().partial());
        Launch shares = geometry.shares(x.rows(), x.cols());
        kernels.launch(
                "row_norm_backward",
                shares,
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
        kernels.launch("columns", geometry.columns(), partial, p(dg), shares.x());
    }

    @Override
    public void heads(Tensor qkv, Tensor r, boolean normV) {
        long count = headCount(normV);
        kernels.launch(
                "heads",
                geometry.heads(count),
                p(qkv),
                p(r),
                at(storage.scratch().turns()),
                normV ? 3 : 2,
                count);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, boolean normV) {
        long count = headCount(normV);
        kernels.launch(
                "heads_backward",
                geometry.heads(count),
                p(dqkv),
                p(qkv),
                p(r),
                at(storage.scratch().turns()),
                normV ? 3 : 2,
                count);
    }

    private long headCount(boolean normV) {
        return (long) dims.N() * dims.H() * (normV ? 3 : 2);
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        if (kernels.flash().isPresent()) {
            kernels.launch("flash", kernels.flash().get().forward(), p(qkv), p(o), p(lse));
        } else {
            kernels.launch("attention", geometry.warps(), p(qkv), p(o), p(lse), (long) dims.N() * dims.H());
        }
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        long count = (long) dims.N() * dims.H(), delta = at(storage.scratch().delta());
        kernels.launch("attention_delta", geometry.delta(), p(o), p(dO), delta, count);
        if (kernels.flash().isPresent()) {
            Flash flash = kernels.flash().get();
            kernels.launch("flash_key", flash.key(), p(qkv), p(lse), delta, p(dO), p(dqkv));
            kernels.launch("flash_query", flash.query(), p(qkv), p(lse), delta, p(dO), p(dqkv));
        } else {
            kernels.launch("attention_query", geometry.warps(), p(qkv), p(lse), delta, p(dO), p(dqkv), count);
            kernels.launch("attention_key", geometry.warps(), p(qkv), p(lse), delta, p(dO), p(dqkv), count);
        }
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s) {
        kernels.launch("activation", geometry.rows(f.rows(), f.cols()), p(f), p(fr), p(s), f.rows());
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds) {
        kernels.launch("activation_backward", geometry.rows(f.rows(), f.cols()), p(f), p(fr), p(ds), f.rows());
    }

    @Override
    public void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        int C = dims.C(), V = dims.V();
        long logits = at(storage.scratch().logits());
        int chunk = storage.scratch().chunk();
        for (int from = 0; from < dims.N(); from += chunk) {
            int rows = Math.min(chunk, dims.N() - from);
            long row = (long) from * C * precision.bytes;
            multiply(true, false, V, rows, C, p(w), p(x) + row, 0, logits, precision);
            kernels.launch(
                    "softmax",
                    new Launch(rows, 1, 1, 512, 1, kernels.softmaxBytes()),
                    logits,
                    feed.targets() + 4L * from,
                    p(losses) + 4L * from,
                    Double.doubleToRawLongBits(dx == null ? 0 : scale),
                    kernels.softmaxBytes());
            if (dx != null) {
                multiply(false, false, C, rows, V, p(w), logits, 0, p(dx) + row, precision);
                multiply(false, true, C, V, rows, p(x) + row, logits, 1, p(dw), Precision.FLOAT32);
            }
        }
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        long at = at(storage.scratch().row());
        kernels.launch(
                "logits",
                Launch.each(32L * dims.V(), Geometry.THREADS),
                p(x) + (long) row * dims.C() * precision.bytes,
                p(w),
                at);
        return storage.read(at, Precision.FLOAT32, dims.V());
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
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        lists.run(
                "represent",
                each(
                        masters.size(),
                        k -> Lists.Entry.of(masters.get(k), weights.get(k), scale[k], Lists.flag(weights.get(k)))));
    }

    private static List<Lists.Entry> each(int count, java.util.function.IntFunction<Lists.Entry> entry) {
        return IntStream.range(0, count).mapToObj(entry).toList();
    }

    /** Its address; 0 for none. */
    private static long p(Tensor tensor) {
        return tensor == null ? 0 : Lists.pointer(tensor);
    }
}
