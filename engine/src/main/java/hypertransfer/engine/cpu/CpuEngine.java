package hypertransfer.engine.cpu;

import static hypertransfer.engine.cpu.memory.Floats.at;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.Product.Matrix;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.memory.Storage;
import hypertransfer.engine.cpu.product.Blas;
import hypertransfer.engine.cpu.product.Natives;
import hypertransfer.engine.cpu.vector.Doubles;
import hypertransfer.engine.cpu.vector.Lanes;
import hypertransfer.engine.cpu.vector.Sums;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;
import jdk.incubator.vector.FloatVector;

/**
 * Floats outside the heap, OpenBLAS for the products, vectors for the rest, all cores. Here
 * tensors become addresses; the classes beside this one compute.
 */
public final class CpuEngine implements Engine, Layers {
    private final Dims dims;
    private final Pool pool;
    private final Storage storage = new Storage();
    private final int[] inputs;
    private final int[] targets;

    private final NormGradients normGradients;
    private final Heads heads;
    private final Attention attention;
    private final CrossEntropy crossEntropy;
    private final CpuMotion motion;

    /** On as many threads as {@code ht.threads} says, or as there are cores. */
    public CpuEngine(Dims dims) {
        this(dims, Pool.threads());
    }

    public CpuEngine(Dims dims, int threads) {
        Natives.library(); // here, so that a platform without it is refused in words
        this.dims = dims;
        inputs = new int[dims.N()];
        targets = new int[dims.N()];
        pool = new Pool(threads); // after all that can fail, since it starts threads
        normGradients = new NormGradients(pool, dims, storage);
        heads = new Heads(pool, dims, storage);
        attention = new Attention(pool, dims, storage);
        crossEntropy = new CrossEntropy(pool, dims, storage);
        motion = new CpuMotion(pool, dims, storage);
    }

    /** Apart, so that a JVM without vectors can load the engine and say what it lacks. */
    private static final class Preferred {
        static final int BITS = FloatVector.SPECIES_PREFERRED.vectorBitSize();
    }

    /** The width in bits of the vectors that Java computes with; zero if the JVM was started without them. */
    public static int vectorBits() {
        try {
            return Preferred.BITS;
        } catch (NoClassDefFoundError e) {
            return 0;
        }
    }

    /** What this machine or this JVM lacks for the engine to work; empty where nothing is missing. */
    public static String missing() {
        if (vectorBits() == 0) {
            return "the JVM runs without its vectors; start it with --add-modules jdk.incubator.vector";
        }
        try {
            Natives.library();
            return "";
        } catch (EngineException e) {
            return e.getMessage();
        }
    }

    @Override
    public String name() {
        return "cpu";
    }

    @Override
    public Dims dims() {
        return dims;
    }

    /** Sums are taken lane by lane, so that their order depends on how many lanes there are, and on OpenBLAS's kernels. */
    @Override
    public String provenance() {
        return "vectors of " + Lanes.SPECIES.vectorBitSize() + " bits, OpenBLAS for " + Blas.kernels();
    }

    // ------------------------------------------------------------------ memory

    @Override
    public Tensor tensor(Role role, String name, int rows, int cols) {
        return storage.declare(role, name, rows, cols);
    }

    @Override
    public Tensor slice(Tensor whole, String name, int from, int rows) {
        return ((Floats) whole).slice(name, from, rows);
    }

    @Override
    public Memory commit() {
        Memory memory = storage.commit();
        heads.commit();
        return memory;
    }

    @Override
    public void write(Tensor tensor, double[] values) {
        long at = at(tensor);
        boolean exact = ((Floats) tensor).exact();
        for (int i = 0; i < values.length; i++) {
            if (exact) {
                Doubles.put(at + 8L * i, values[i]);
            } else {
                Lanes.put(at + 4L * i, (float) values[i]);
            }
        }
    }

    @Override
    public double[] read(Tensor tensor) {
        long at = at(tensor);
        boolean exact = ((Floats) tensor).exact();
        double[] values = new double[Math.toIntExact(tensor.size())];
        Arrays.setAll(values, i -> exact ? Doubles.get(at + 8L * i) : Lanes.get(at + 4L * i));
        return values;
    }

    @Override
    public void store(Tensor tensor, MemorySegment to) {
        MemorySegment.copy(Lanes.ALL, at(tensor), to, 0, to.byteSize());
    }

    @Override
    public void load(MemorySegment from, Tensor tensor) {
        MemorySegment.copy(from, 0, Lanes.ALL, at(tensor), from.byteSize());
    }

    @Override
    public void zero(List<Tensor> tensors) {
        motion.zero(tensors);
    }

    @Override
    public void close() {
        pool.close();
        storage.close();
    }

    // ----------------------------------------------------------------- network

    @Override
    public void feed(int[] inputs, int[] targets) {
        System.arraycopy(inputs, 0, this.inputs, 0, inputs.length);
        System.arraycopy(targets, 0, this.targets, 0, targets.length);
    }

    @Override
    public void embed(Tensor w, Tensor x) {
        long from = at(w), to = at(x), row = 4L * dims.C();
        Embedding.each(pool, inputs, n -> Lanes.copy(from + row * inputs[n], to + row * n, row));
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        long from = at(dx), to = at(dw), row = 4L * dims.C();
        Embedding.each(pool, inputs, n -> Lanes.add(from + row * n, to + row * inputs[n], dims.C()));
    }

    @Override
    public void product(Tensor x, Tensor w, Tensor y) {
        int n = x.rows(), in = x.cols(), out = w.rows();
        new Product(n, out, in, Matrix.at(at(x), in), Matrix.flipped(at(w), in), 0, Matrix.at(at(y), out)).run(pool);
    }

    @Override
    public void productInput(Tensor dy, Tensor w, Tensor dx) {
        int n = dy.rows(), in = w.cols(), out = dy.cols();
        new Product(n, in, out, Matrix.at(at(dy), out), Matrix.at(at(w), in), 0, Matrix.at(at(dx), in)).run(pool);
    }

    @Override
    public void productWeight(Tensor dy, Tensor x, Tensor dw) {
        int n = dy.rows(), in = x.cols(), out = dy.cols();
        new Product(out, in, n, Matrix.flipped(at(dy), out), Matrix.at(at(x), in), 1, Matrix.at(at(dw), in)).run(pool);
    }

    @Override
    public void addRows(Tensor y, Tensor b) {
        Embedding.repeated(pool, false, y.rows(), y.cols(), b.rows(), at(y), at(b));
    }

    @Override
    public void addRowsBackward(Tensor dy, Tensor db) {
        Embedding.repeated(pool, true, dy.rows(), dy.cols(), db.rows(), at(dy), at(db));
    }

    @Override
    public void norm(Tensor x, Norm norm, Tensor y) {
        Norms.norm(pool, x, norm, y);
    }

    @Override
    public void normBackward(Tensor dy, Tensor x, Norm norm, Tensor dx) {
        normGradients.run(false, dy, null, null, x, norm, dx, null);
    }

    @Override
    public void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor y) {
        Norms.residual(pool, h, z, zr, out, norm, y);
    }

    @Override
    public void residualNormBackward(Tensor dy, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor dh, Tensor dz) {
        normGradients.run(true, dy, z, zr, out, norm, dh, dz);
    }

    @Override
    public void heads(Tensor qkv, Tensor r, HeadRule rule) {
        heads.forward(at(qkv), at(r), rule);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule) {
        heads.backward(at(dqkv), at(qkv), at(r), rule);
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        attention.forward(at(qkv), at(o), at(lse));
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        attention.backward(at(qkv), at(o), at(lse), at(dO), at(dqkv));
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind) {
        new Activation(kind, s.rows(), s.cols(), at(f), at(fr)).forward(pool, at(s));
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind) {
        new Activation(kind, ds.rows(), ds.cols(), at(f), at(fr)).backward(pool, at(ds), at(df));
    }

    @Override
    public void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        crossEntropy.run(targets, at(x), at(w), at(losses), scale, at(dx), at(dw));
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        double[] logits = new double[w.rows()];
        long from = at(x) + 4L * row * x.cols(), with = at(w);
        Arrays.setAll(logits, v -> Lanes.dot(from, with + 4L * v * x.cols(), x.cols()));
        return logits;
    }

    @Override
    public double sum(Tensor tensor) {
        return Sums.sum(at(tensor), tensor.size());
    }

    @Override
    public Layers layers() {
        return this;
    }

    @Override
    public Motion motion() {
        return motion;
    }
}
