package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Exchange;
import hypertransfer.engine.Format;
import hypertransfer.engine.HeadRule;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Nonlinearity;
import hypertransfer.engine.Ranks;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.Lists.Entry;
import hypertransfer.engine.cuda.driver.Cache;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.driver.Driver;
import hypertransfer.engine.cuda.driver.Graphs;
import hypertransfer.engine.cuda.driver.Launch;
import hypertransfer.engine.cuda.driver.Nvrtc;
import hypertransfer.engine.foreign.Native;
import hypertransfer.engine.ranks.Carriers;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * One NVIDIA card: our kernels, compiled on it, and cuBLASLt. All work is queued on one stream; only {@link #read},
 * {@link #readings}, {@link #sum} and {@link #logits} wait for it.
 */
public final class CudaEngine implements Engine {
    private static final HeadRule NO_RULE = new HeadRule(false, false, false);
    private static final String NVRTC = "libnvrtc.so", LT = "libcublasLt.so";

    private final Dims dims;
    private final Precision precision;
    private final Device device;
    private final Kernels kernels;
    private final Blas blas;
    private final Storage storage;
    private final Geometry geometry;
    private final Graphs graphs;
    private Scratch scratch;
    private Feed feed;
    private Lists lists;
    private Attention attention;
    private Fused fused; // null where the card or the sizes do not fit
    private boolean onCards; // what travels between ranks does not pass through the host

    /**
     * On the card of this number, as the driver counts them; numbers beyond the last card begin again with the first.
     */
    public CudaEngine(Dims dims, Precision precision, int card) {
        this(dims, precision, Driver.open(card));
    }

    private CudaEngine(Dims dims, Precision precision, Driver driver) {
        this(dims, precision, driver, driver.library(NVRTC), driver.library(LT), Cache.of(System.getenv()));
    }

    CudaEngine(Dims dims, Precision precision, Driver driver, Native nvrtc, Native lt, Cache cache) {
        this.dims = dims;
        this.precision = precision;
        geometry = new Geometry(dims, precision);
        device = new Device(driver);
        storage = new Storage(device, dims, precision);
        graphs = new Graphs(device);
        try {
            kernels = new Kernels(device, new Nvrtc(nvrtc), cache, geometry);
            blas = new Blas(device, lt, cache);
        } catch (RuntimeException | Error e) {
            try (device) {
                throw e;
            }
        }
    }

    /** Empty where this machine can run the engine; else the one thing that would make it work. */
    public static Optional<String> missing() {
        try {
            Driver driver = Driver.open(0);
            driver.library(NVRTC);
            driver.library(LT);
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

    @Override
    public Optional<String> remark() {
        return precision == Precision.BF16 && !dims.plainAttention()
                ? Optional.of(
                        "attention runs on the plain kernels: the fast ones have no window and no shared key/value heads")
                : Optional.empty();
    }

    @Override
    public void decisions(Path file) {
        blas.own(file);
    }

    // ------------------------------------------------------------------ memory

    @Override
    public Tensor tensor(Role role, String name, int rows, int cols) {
        return storage.declare(role, name, rows, cols);
    }

    @Override
    public Tensor slice(Tensor whole, String name, int from, int rows) {
        return ((DeviceTensor) whole).slice(name, from, rows);
    }

    @Override
    public Memory commit() {
        Memory memory = storage.commit();
        scratch = storage.scratch();
        blas.workspace(scratch.blas);
        feed = new Feed(device, dims.N(), dims.V(), scratch.tokens);
        lists = new Lists(device, kernels, blas, scratch);
        attention = new Attention(device, kernels, geometry, scratch);
        fused = kernels.fused() ? new Fused(device, kernels, dims, scratch) : null;
        return memory;
    }

    @Override
    public Ranks carrier(Ranks ranks, Exchange choice) {
        Driver driver = device.driver();
        Ranks carrier = Carriers.onCards(ranks, choice, driver.uuid(), driver.functions(), device.stream());
        onCards = carrier != ranks;
        return carrier;
    }

    @Override
    public void pack(List<Tensor> tensors, MemorySegment to) {
        storage.carry(tensors, to.address(), true, !onCards);
    }

    @Override
    public void unpack(MemorySegment from, List<Tensor> tensors) {
        storage.carry(tensors, from.address(), false, !onCards);
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
    public double sum(Tensor tensor) {
        return lists.read(Kernel.TOTAL, 1, k -> Entry.of(tensor, tensor, 0).format(format(tensor)))[0];
    }

    @Override
    public void zero(List<Tensor> tensors) {
        tensors.forEach(t -> device.zero(pointer(t), ((DeviceTensor) t).bytes()));
    }

    @Override
    public void close() {
        if (device.closed()) {
            return;
        }
        try (device;
                blas) { // whatever fails, both are closed
            device.synchronize();
            System.err.print(device.profile().table());
        }
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
        kernels.launch(Kernel.EMBED, geometry.embed(), w, feed.inputs(), x, dims.N());
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        Launch launch = geometry.embedBackward(feed.distinct());
        kernels.launch(Kernel.EMBED_BACKWARD, launch, dx, feed.inputs(), feed.order(), feed.starts(), dw);
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
        multiply(flipA, flipB, m, n, k, pointer(a), pointer(b), keep, pointer(c), format(c));
    }

    private void multiply(
            boolean flipA, boolean flipB, int m, int n, int k, long a, long b, double keep, long c, Precision out) {
        Product product = Product.of(flipA, flipB, m, n, k, precision, out, Product.alignment(a, b, c));
        blas.multiply(product, 1, a, b, keep, c, c);
    }

    @Override
    public void shift(Tensor y, Tensor b) {
        kernels.launch(Kernel.SHIFT, geometry.shift(y), y, b, y.rows(), y.cols(), b.rows());
    }

    @Override
    public void shiftBackward(Tensor dy, Tensor db) {
        kernels.launch(Kernel.SHIFT_BACKWARD, geometry.sums(db), dy, db, dy.rows(), dy.cols(), db.rows());
    }

    @Override
    public void norm(Tensor x, Tensor gain, Tensor y, Tensor r, boolean center) {
        residualNorm(x, null, null, null, gain, y, r, center);
    }

    @Override
    public void residualNorm(
            Tensor h, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor y, Tensor r, boolean center) {
        Kernel kernel = center ? Kernel.LAYER_NORM : Kernel.ROW_NORM;
        kernels.launch(kernel, rows(h), h, z, zr, out, gain, y, r, h.rows());
    }

    @Override
    public void normBackward(Tensor dy, Tensor x, Tensor gain, Tensor r, Tensor dx, Tensor dgain, boolean center) {
        throughNorm(center, dy, x, gain, r, null, dx, null, null, null, dgain);
    }

    @Override
    public void residualNormBackward(
            Tensor dy,
            Tensor z,
            Tensor zr,
            Tensor out,
            Tensor gain,
            Tensor r,
            Tensor dh,
            Tensor dz,
            Tensor dgain,
            boolean center) {
        throughNorm(center, dy, out, gain, r, dh, dh, z, zr, dz, dgain);
    }

    private void throughNorm(
            boolean center,
            Tensor dy,
            Tensor x,
            Tensor gain,
            Tensor r,
            Tensor dh,
            Tensor dx,
            Tensor z,
            Tensor zr,
            Tensor dz,
            Tensor dgain) {
        Kernel kernel = center ? Kernel.LAYER_NORM_BACKWARD : Kernel.ROW_NORM_BACKWARD;
        Launch shares = geometry.shares(x.rows(), x.cols());
        kernels.launch(kernel, shares, dy, x, gain, r, dh, dx, z, zr, dz, scratch.partial, x.rows());
        addColumns(shares.x(), dgain);
    }

    private void addColumns(int shares, Tensor dgain) {
        kernels.launch(Kernel.COLUMNS, geometry.columns(), scratch.partial, dgain, shares);
    }

    private Launch rows(Tensor x) {
        return geometry.rows(x.rows(), x.cols());
    }

    @Override
    public void heads(Tensor qkv, Tensor r, HeadRule rule) {
        attention.heads(qkv, r, rule);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule) {
        attention.headsBackward(dqkv, qkv, r, rule);
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        attention.forward(qkv, o, lse);
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        attention.backward(qkv, null, NO_RULE, o, lse, dO, dqkv);
    }

    @Override
    public void attentionHeadsBackward(
            Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        attention.backward(qkv, r, rule, o, lse, dO, dqkv);
    }

    @Override
    public void productHeads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        if (fused != null) {
            fused.heads(x, w, qkv, r, rule);
        } else {
            Engine.super.productHeads(x, w, qkv, r, rule);
        }
    }

    @Override
    public void productActivation(Tensor x, Tensor w, Tensor f, Tensor s, Nonlinearity kind) {
        if (fused != null && kind == Nonlinearity.RELU_SQUARED) {
            fused.reluSquared(x, w, s);
        } else {
            Engine.super.productActivation(x, w, f, s, kind);
        }
    }

    @Override
    public void productActivationBackward(
            Tensor dy, Tensor w, Tensor f, Tensor s, Tensor ds, Tensor df, Nonlinearity kind) {
        if (fused != null && kind == Nonlinearity.RELU_SQUARED) {
            fused.slope(dy, w, s, df);
        } else {
            Engine.super.productActivationBackward(dy, w, f, s, ds, df, kind);
        }
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind) {
        Kernel kernel = switch (kind) {
            case RELU_SQUARED -> Kernel.RELU_SQUARED;
            case GELU -> Kernel.GELU;
            case SWIGLU -> Kernel.SWIGLU;
        };
        kernels.launch(kernel, rows(s), f, fr, s, s.rows());
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind) {
        Kernel kernel = switch (kind) {
            case RELU_SQUARED -> Kernel.RELU_SQUARED_BACKWARD;
            case GELU -> Kernel.GELU_BACKWARD;
            case SWIGLU -> Kernel.SWIGLU_BACKWARD;
        };
        kernels.launch(kernel, rows(ds), f, fr, ds, df, ds.rows());
    }

    @Override
    public void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        int C = dims.C(), V = dims.V(), held = kernels.softmaxBytes();
        boolean gradient = dx != null;
        for (int from = 0; from < dims.N(); from += scratch.chunk) {
            int rows = Math.min(scratch.chunk, dims.N() - from);
            long row = (long) from * C * precision.bytes, logits = scratch.logits;
            long targets = feed.targets() + 4L * from, loss = pointer(losses) + 4L * from;
            multiply(true, false, V, rows, C, pointer(w), pointer(x) + row, 0, logits, precision);
            kernels.launch(Kernel.SOFTMAX, geometry.softmax(rows, held), logits, targets, loss, scale, gradient, held);
            if (gradient) {
                multiply(false, false, C, rows, V, pointer(w), logits, 0, pointer(dx) + row, precision);
                multiply(false, true, C, V, rows, pointer(x) + row, logits, 1, pointer(dw), Precision.FLOAT32);
            }
        }
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        long at = pointer(x) + (long) row * dims.C() * precision.bytes;
        kernels.launch(Kernel.LOGITS, geometry.logits(), at, w, scratch.row);
        return storage.read(scratch.row, Precision.FLOAT32, dims.V());
    }

    @Override
    public Motion motion() {
        return lists;
    }

    private static long pointer(Tensor tensor) {
        return ((DeviceTensor) tensor).pointer();
    }

    private static Precision format(Tensor tensor) {
        return ((DeviceTensor) tensor).format();
    }
}
