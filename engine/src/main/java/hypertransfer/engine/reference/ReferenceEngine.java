package hypertransfer.engine.reference;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.Fp8.Grid;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Role;
import hypertransfer.engine.Stopped;
import hypertransfer.engine.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The oracle: double precision, one thread, loops that read like the formulas. As a model of an engine in {@link Format#FP8} it
 * rounds what that one holds in eight bits, and the weights of products with it, and nothing else.
 */
public final class ReferenceEngine implements Engine, Layers {
    private final Dims dims;
    private final boolean eight;
    private final Map<Role, List<Array>> declared = new EnumMap<>(Role.class);
    private final ReferenceMotion motion = new ReferenceMotion();
    private int[] inputs;
    private int[] targets;

    public ReferenceEngine(Dims dims) {
        this(dims, Format.FLOAT64);
    }

    /** As the model of an engine with this format. */
    public ReferenceEngine(Dims dims, Format format) {
        this.dims = dims;
        eight = format == Format.FP8;
    }

    @Override
    public String name() {
        return eight ? "reference-fp8" : "reference";
    }

    @Override
    public Dims dims() {
        return dims;
    }

    @Override
    public Format weights() {
        return eight ? Format.FP8 : Format.FLOAT64;
    }

    // ------------------------------------------------------------------ memory

    @Override
    public Tensor tensor(Role role, String name, int rows, int cols) {
        Array array = new Array(name, rows, cols, eight ? Grid.of(role, dims) : null);
        declared.computeIfAbsent(role, r -> new ArrayList<>()).add(array);
        return array;
    }

    @Override
    public Tensor slice(Tensor whole, String name, int from, int rows) {
        return ((Array) whole).slice(name, from, rows);
    }

    @Override
    public Memory commit() {
        Map<Role, Long> bytes = new EnumMap<>(Role.class);
        declared.forEach((role, arrays) ->
                bytes.put(role, arrays.stream().mapToLong(Tensor::bytes).sum()));
        Memory memory = new Memory(bytes);
        long free = Runtime.getRuntime().maxMemory();
        if (memory.total() > free) {
            throw new EngineException(memory.table() + "does not fit into the heap of " + free / 1048576
                    + " MiB; "
                    + memory.remedy("lower the batch, or raise the heap with JDK_JAVA_OPTIONS=-Xmx8g"));
        }
        declared.values().forEach(arrays -> arrays.forEach(Array::allocate));
        return memory;
    }

    @Override
    public void write(Tensor tensor, double[] values) {
        ((Array) tensor).write(values);
    }

    @Override
    public double[] read(Tensor tensor) {
        return ((Array) tensor).read();
    }

    @Override
    public void store(Tensor tensor, MemorySegment to) {
        to.copyFrom(MemorySegment.ofArray(read(tensor)));
    }

    @Override
    public void load(MemorySegment from, Tensor tensor) {
        write(tensor, from.toArray(ValueLayout.JAVA_DOUBLE_UNALIGNED));
    }

    @Override
    public void zero(List<Tensor> tensors) {
        for (Tensor tensor : tensors) {
            Array t = (Array) tensor;
            Arrays.fill(t.data(), t.row(0), t.row(t.rows()), 0);
        }
    }

    @Override
    public void close() {
        declared.values().forEach(arrays -> arrays.forEach(Array::free));
    }

    // ----------------------------------------------------------------- network

    @Override
    public void feed(int[] inputs, int[] targets) {
        this.inputs = inputs.clone();
        this.targets = targets.clone();
    }

    /** Before each row of what takes longest. */
    private void ask() {
        if (Stopped.wished()) {
            throw new Stopped();
        }
    }

    @Override
    public void embed(Tensor w, Tensor x) {
        Array from = (Array) w, to = (Array) x;
        for (int n = 0; n < inputs.length; n++) {
            System.arraycopy(from.data(), from.row(inputs[n]), to.data(), to.row(n), dims.C());
        }
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        Array from = (Array) dx, to = (Array) dw;
        for (int n = 0; n < inputs.length; n++) {
            for (int c = 0; c < dims.C(); c++) {
                to.data()[to.row(inputs[n]) + c] += from.data()[from.row(n) + c];
            }
        }
    }

    /** A weight as a product takes it that has the other operand in this form. */
    private static Array beside(Array operand, Tensor w) {
        Array own = (Array) w;
        return operand.grid() == null || own.grid() != null ? own : own.on(Grid.weight(w.cols()));
    }

    @Override
    public void product(Tensor x, Tensor w, Tensor y) {
        Array a = (Array) x, b = beside(a, w), c = (Array) y;
        for (int n = 0; n < x.rows(); n++) {
            ask();
            for (int out = 0; out < w.rows(); out++) {
                c.data()[c.row(n) + out] = Rows.dot(a.data(), a.row(n), b.data(), b.row(out), x.cols());
            }
        }
    }

    @Override
    public void productInput(Tensor dy, Tensor w, Tensor dx) {
        Array a = (Array) dy, b = beside(a, w), c = (Array) dx;
        for (int n = 0; n < dy.rows(); n++) {
            ask();
            Arrays.fill(c.data(), c.row(n), c.row(n + 1), 0);
            for (int out = 0; out < w.rows(); out++) {
                Rows.add(a.data()[a.row(n) + out], b.data(), b.row(out), c.data(), c.row(n), w.cols());
            }
        }
    }

    @Override
    public void productWeight(Tensor dy, Tensor x, Tensor dw) {
        Array a = (Array) dy, b = (Array) x, c = (Array) dw;
        for (int n = 0; n < dy.rows(); n++) {
            ask();
            for (int out = 0; out < dw.rows(); out++) {
                Rows.add(a.data()[a.row(n) + out], b.data(), b.row(n), c.data(), c.row(out), x.cols());
            }
        }
    }

    @Override
    public void addRows(Tensor y, Tensor b) {
        Array to = (Array) y, from = (Array) b;
        for (int n = 0; n < y.rows(); n++) {
            Rows.add(1, from.data(), from.row(n % b.rows()), to.data(), to.row(n), y.cols());
        }
    }

    @Override
    public void addRowsBackward(Tensor dy, Tensor db) {
        Array from = (Array) dy, to = (Array) db;
        for (int n = 0; n < dy.rows(); n++) {
            Rows.add(1, from.data(), from.row(n), to.data(), to.row(n % db.rows()), dy.cols());
        }
    }

    @Override
    public void norm(Tensor x, Norm norm, Tensor y) {
        Norms.forward((Array) x, norm, (Array) y);
        ((Array) y).settle();
    }

    @Override
    public void normBackward(Tensor dy, Tensor x, Norm norm, Tensor dx) {
        Norms.backward((Array) dy, (Array) x, norm, (Array) dx);
    }

    @Override
    public void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor y) {
        Norms.residual((Array) h, (Array) z, (Array) zr, (Array) out, norm, (Array) y);
        ((Array) y).settle();
    }

    @Override
    public void residualNormBackward(Tensor dy, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor dh, Tensor dz) {
        Array to = (Array) dz;
        Norms.residualBackward((Array) dy, (Array) z, (Array) zr, (Array) out, norm, (Array) dh, to);
        if (to != null && to.grid() != null) {
            to.write(read(zr == null ? dh : dz));
        }
    }

    @Override
    public void heads(Tensor qkv, Tensor r, HeadRule rule) {
        Heads.forward(dims, (Array) qkv, (Array) r, rule);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule) {
        Heads.backward(dims, (Array) dqkv, (Array) qkv, (Array) r, rule);
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        Attention.forward(dims, (Array) qkv, (Array) o, (Array) lse, this::ask);
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        Attention.backward(dims, (Array) qkv, (Array) lse, (Array) dO, (Array) dqkv, this::ask);
        ((Array) dqkv).settle();
    }

    @Override
    public void attentionHeadsBackward(
            Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        Attention.backward(dims, (Array) qkv, (Array) lse, (Array) dO, (Array) dqkv, this::ask);
        headsBackward(dqkv, qkv, r, rule);
        ((Array) dqkv).settle();
    }

    /** In eight bits relu squared has the slope 2 sqrt(s). */
    @Override
    public void productActivationBackward(
            Tensor dy, Tensor w, Tensor f, Tensor s, Tensor ds, Tensor df, Nonlinearity kind) {
        Array to = (Array) df;
        if (to.grid() == null) {
            Layers.super.productActivationBackward(dy, w, f, s, ds, df, kind);
            return;
        }
        productInput(dy, w, df);
        double[] slope = read(s), d = to.read();
        Arrays.setAll(d, i -> d[i] * 2 * Math.sqrt(slope[i]));
        write(df, d);
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind) {
        Activation.forward((Array) f, (Array) fr, (Array) s, kind);
        ((Array) s).settle();
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind) {
        Activation.backward((Array) f, (Array) fr, (Array) ds, (Array) df, kind);
    }

    @Override
    public void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        Array a = (Array) x, b = beside(a, w), l = (Array) losses;
        for (int n = 0; n < dims.N(); n++) {
            ask();
            double[] logits = logits(a, n, b);
            double max = Arrays.stream(logits).max().getAsDouble();
            double[] powers =
                    Arrays.stream(logits).map(z -> StrictMath.exp(z - max)).toArray();
            double sum = Arrays.stream(powers).sum();
            l.data()[l.row(n)] = max + StrictMath.log(sum) - logits[targets[n]];
            if (dx == null) {
                continue;
            }
            Array da = (Array) dx, db = (Array) dw;
            Arrays.fill(da.data(), da.row(n), da.row(n + 1), 0);
            double exact = powers[targets[n]] / sum - 1, kept = round(exact), share = exact == 0 ? 1 : kept / exact;
            for (int v = 0; v < dims.V(); v++) {
                double d = scale * (v == targets[n] ? kept : round(powers[v] / sum * share));
                Rows.add(d, b.data(), b.row(v), da.data(), da.row(n), dims.C());
                Rows.add(d, a.data(), a.row(n), db.data(), db.row(v), dims.C());
            }
        }
    }

    /** A gradient at logits. The target's is as large as all others together: these follow its rounding, so that the sum stays 0. */
    private double round(double d) {
        return eight ? Grid.LOGITS.nearest(d) : d;
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        Array a = (Array) x, b = beside(a, w);
        double[] logits = new double[b.rows()];
        Arrays.setAll(logits, v -> Rows.dot(a.data(), a.row(row), b.data(), b.row(v), a.cols()));
        return logits;
    }

    @Override
    public double sum(Tensor tensor) {
        return Arrays.stream(read(tensor)).sum();
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
