package hypertransfer.engine.cuda;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.CudaMotion.Entry;
import hypertransfer.engine.cuda.driver.Cache;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.driver.Driver;
import hypertransfer.engine.cuda.driver.Graphs;
import hypertransfer.engine.cuda.driver.Nvrtc;
import hypertransfer.engine.cuda.kernel.DeviceTensor;
import hypertransfer.engine.cuda.kernel.Fused;
import hypertransfer.engine.cuda.kernel.Geometry;
import hypertransfer.engine.cuda.kernel.Kernel;
import hypertransfer.engine.cuda.kernel.Kernels;
import hypertransfer.engine.cuda.kernel.Precision;
import hypertransfer.engine.cuda.kernel.Symmetric;
import hypertransfer.engine.foreign.Native;
import hypertransfer.engine.ranks.Exchange;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.engine.ranks.Ranks.Transport;
import hypertransfer.engine.ranks.library.Transports;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/**
 * One NVIDIA card: our kernels, compiled on it, and cuBLASLt. All work is queued on one stream; only {@link #read},
 * {@link #readings}, {@link #sum} and {@link #logits} wait for it.
 */
public final class CudaEngine implements Engine {
    private static final String NVRTC = "libnvrtc.so", LT = "libcublasLt.so";

    private final Dims dims;
    private final Precision precision; // of activations
    private final boolean eight; // whether products take eight bits
    private final Device device;
    private final Kernels kernels;
    private final Blas blas;
    private final Storage storage;
    private final Geometry geometry;
    private final Graphs graphs;
    private final Supplier<Native> solver;
    private TokenUpload feed;
    private CudaMotion motion;
    private Layers layers;
    private boolean onCards; // what travels between ranks does not pass through the host

    /**
     * On the card of this number, as the driver counts them; numbers beyond the last card begin again with the first.
     */
    public CudaEngine(Dims dims, Precision precision, int card) {
        Driver driver = Driver.open(card);
        Native nvrtc = driver.library(NVRTC), lt = driver.library(LT);
        this(dims, precision, driver, nvrtc, lt, driver::solver, Cache.of(System.getenv()));
    }

    CudaEngine(
            Dims dims,
            Precision precision,
            Driver driver,
            Native nvrtc,
            Native lt,
            Supplier<Native> solver,
            Cache cache) {
        this.dims = dims;
        eight = precision == Precision.E4M3;
        this.precision = precision.activations();
        this.solver = solver;
        geometry = new Geometry(dims, this.precision, eight);
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
    public static String missing() {
        try {
            Driver driver = Driver.open(0);
            driver.library(NVRTC);
            driver.library(LT);
            return "";
        } catch (EngineException e) {
            return e.getMessage();
        }
    }

    /** What it is on this machine: the card, and which of our kernels it takes. */
    public static String description() {
        try {
            Driver driver = Driver.open(0);
            boolean hopper = driver.capability() == Fused.CAPABILITY;
            return (hopper ? "bf16 (and model.precision fp8) on " : "bf16 on ") + driver.name() + ", "
                    + (hopper
                            ? "products fused with heads and activation, attention by wgmma (with the copy engine, and backward with five products,"
                                    + " where the sequence is a multiple of 128), Newton-Schulz's symmetric products by half"
                            : "products by cuBLASLt, attention by mma.sync");
        } catch (EngineException e) {
            return "bf16 on an NVIDIA card";
        }
    }

    @Override
    public String name() {
        return eight ? "cuda-fp8" : precision == Precision.BF16 ? "cuda" : "cuda-float32";
    }

    @Override
    public Dims dims() {
        return dims;
    }

    @Override
    public Format weights() {
        return eight ? Format.FP8 : precision == Precision.BF16 ? Format.BF16 : Format.FLOAT32;
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

    /** Dense, on the tensor cores. Cards of these names have the same processor; those for slower slots have other names. */
    @Override
    public double peak() {
        boolean known = device.driver.name().matches("NVIDIA (H200|H100 80GB HBM3)");
        return !known || precision != Precision.BF16 ? 0 : eight ? 1979e12 : 989e12;
    }

    @Override
    public void decisions(Path file) {
        blas.own(file);
    }

    @Override
    public void decide(Runnable work) {
        blas.decide(work);
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
        Scratch scratch = storage.scratch();
        blas.workspace(scratch.blas);
        feed = new TokenUpload(device, dims.N(), dims.V(), scratch.tokens);
        Bases bases = new Bases(device, blas, scratch, solver);
        Symmetric symmetric = kernels.symmetric ? new Symmetric(kernels) : null;
        motion = new CudaMotion(kernels, blas, scratch, bases, symmetric);
        layers = new CudaLayers(kernels, blas, geometry, storage, feed);
        return memory;
    }

    @Override
    public Exchange transport(Ranks ranks, Transport choice) {
        Driver driver = device.driver;
        Exchange transport = Transports.onCards(ranks, choice, driver.uuid(), driver.functions(), device.stream());
        onCards = transport != ranks;
        return transport;
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
    public void store(Tensor tensor, MemorySegment to) {
        storage.carry(List.of(tensor), to.address(), true, true);
    }

    @Override
    public void load(MemorySegment from, Tensor tensor) {
        storage.carry(List.of(tensor), from.address(), false, true);
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
        Precision format = ((DeviceTensor) tensor).format();
        return motion.read(Kernel.TOTAL, 1, k -> Entry.of(tensor, tensor, 0).narrow(format))[0];
    }

    @Override
    public void zero(List<Tensor> tensors) {
        tensors.forEach(t -> device.zero(pointer(t), t.bytes()));
    }

    @Override
    public void close() {
        if (device.closed()) {
            return;
        }
        try (device;
                blas;
                CudaMotion _ = motion) { // whatever fails, all are closed
            device.synchronize();
        }
    }

    // ----------------------------------------------------------------- network

    @Override
    public void feed(int[] inputs, int[] targets) {
        feed.send(inputs, targets);
    }

    @Override
    public void await() {
        device.synchronize();
    }

    @Override
    public void replay(String name, Runnable operations) {
        if (blas.deciding()) {
            operations.run();
        } else {
            graphs.run(name, operations);
        }
    }

    @Override
    public Layers layers() {
        return layers;
    }

    @Override
    public Motion motion() {
        return motion;
    }
}
