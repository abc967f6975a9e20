package hypertransfer.engine;

import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * The door in front of every engine: it holds all rules of {@link Engine} about shapes, lists, tokens, rows and order,
 * so that the engine behind it computes and checks nothing. A refusal names the operation, the argument, what was met
 * and what was expected. A check is a few comparisons and allocates nothing.
 */
public final class Checked implements Engine {
    private enum Phase {
        DECLARING,
        READY,
        CLOSED
    }

    private final Engine engine;
    private final Dims dims;
    private final int N, C, H, V;
    private final Set<Tensor> own = Collections.newSetFromMap(new IdentityHashMap<>());
    private Phase phase = Phase.DECLARING;
    private boolean fed;
    private String replayed; // the name of the replay we are in, or null
    private String operation; // the one being checked

    public Checked(Engine engine) {
        this.engine = engine;
        dims = engine.dims();
        N = dims.N();
        C = dims.C();
        H = dims.H();
        V = dims.V();
    }

    @Override
    public String name() {
        return engine.name();
    }

    @Override
    public Dims dims() {
        return dims;
    }

    @Override
    public boolean separateWeights() {
        return engine.separateWeights();
    }

    @Override
    public int bytes() {
        return engine.bytes();
    }

    // ------------------------------------------------------------------ memory

    @Override
    public Tensor tensor(Role role, String name, int rows, int cols) {
        declaring("tensor");
        present("role", role);
        present("name", name);
        if (rows <= 0 || cols <= 0 || (long) rows * cols > Integer.MAX_VALUE) {
            throw refusal("'" + name + "' has shape " + shape(rows, cols)
                    + ", expected at least 1 row and 1 column and fewer than 2^31 numbers");
        }
        return owned(engine.tensor(role, name, rows, cols));
    }

    @Override
    public Tensor slice(Tensor whole, String name, int from, int rows) {
        open("slice");
        mine("whole", whole);
        present("name", name);
        if (from < 0 || rows <= 0 || rows > whole.rows() - from) {
            throw refusal("'" + name + "' takes " + rows + " rows from row " + from + " on, expected rows of '"
                    + whole.name() + "', which has " + whole.rows());
        }
        return owned(engine.slice(whole, name, from, rows));
    }

    private Tensor owned(Tensor tensor) {
        own.add(tensor);
        return tensor;
    }

    @Override
    public Memory commit() {
        declaring("commit");
        Memory memory = engine.commit();
        phase = Phase.READY;
        return memory;
    }

    @Override
    public void write(Tensor tensor, double[] values) {
        outside("write");
        mine("tensor", tensor);
        present("values", values);
        if (values.length != tensor.size()) {
            throw refusal(values.length + " values for '" + tensor.name() + "' of shape "
                    + shape(tensor.rows(), tensor.cols()) + ", expected " + tensor.size());
        }
        engine.write(tensor, values);
    }

    @Override
    public double[] read(Tensor tensor) {
        outside("read");
        mine("tensor", tensor);
        return engine.read(tensor);
    }

    @Override
    public double sum(Tensor tensor) {
        outside("sum");
        mine("tensor", tensor);
        return engine.sum(tensor);
    }

    @Override
    public void zero(List<Tensor> tensors) {
        ready("zero");
        list("tensors", tensors);
        engine.zero(tensors);
    }

    @Override
    public void close() {
        if (phase != Phase.CLOSED) {
            phase = Phase.CLOSED;
            engine.close();
        }
    }

    // ----------------------------------------------------------------- network

    @Override
    public void feed(int[] inputs, int[] targets) {
        outside("feed");
        tokens("inputs", inputs);
        tokens("targets", targets);
        engine.feed(inputs, targets);
        fed = true;
    }

    private void tokens(String name, int[] tokens) {
        present(name, tokens);
        if (tokens.length != N) {
            throw refusal(name + " has " + tokens.length + " tokens, expected " + N);
        }
        for (int n = 0; n < N; n++) {
            if (tokens[n] < 0 || tokens[n] >= V) {
                throw refusal(name + "[" + n + "] is token " + tokens[n] + ", expected 0 to " + (V - 1));
            }
        }
    }

    @Override
    public void replay(String name, Runnable operations) {
        outside("replay");
        present("name", name);
        present("operations", operations);
        replayed = name;
        try {
            engine.replay(name, operations);
        } finally {
            replayed = null;
        }
    }

    @Override
    public void embed(Tensor w, Tensor x) {
        fed("embed");
        check("w", w, V, C);
        check("x", x, N, C);
        engine.embed(w, x);
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        outside("embedBackward");
        fed("embedBackward");
        check("dx", dx, N, C);
        check("dw", dw, V, C);
        engine.embedBackward(dx, dw);
    }

    @Override
    public void product(Tensor x, Tensor w, Tensor y) {
        ready("product");
        mine("x", x);
        mine("w", w);
        check("w", w, w.rows(), x.cols());
        check("y", y, x.rows(), w.rows());
        engine.product(x, w, y);
    }

    @Override
    public void productInput(Tensor dy, Tensor w, Tensor dx) {
        ready("productInput");
        mine("dy", dy);
        mine("w", w);
        check("w", w, dy.cols(), w.cols());
        check("dx", dx, dy.rows(), w.cols());
        engine.productInput(dy, w, dx);
    }

    @Override
    public void productWeight(Tensor dy, Tensor x, Tensor dw) {
        ready("productWeight");
        mine("dy", dy);
        mine("x", x);
        check("x", x, dy.rows(), x.cols());
        check("dw", dw, dy.cols(), x.cols());
        engine.productWeight(dy, x, dw);
    }

    @Override
    public void norm(Tensor x, Tensor gain, Tensor y, Tensor r) {
        ready("norm");
        check("x", x, N, C);
        check("gain", gain, 1, C);
        check("y", y, N, C);
        check("r", r, N, 1);
        engine.norm(x, gain, y, r);
    }

    @Override
    public void normBackward(Tensor dy, Tensor x, Tensor gain, Tensor r, Tensor dx, Tensor dgain) {
        ready("normBackward");
        check("dy", dy, N, C);
        check("x", x, N, C);
        check("gain", gain, 1, C);
        check("r", r, N, 1);
        check("dx", dx, N, C);
        check("dgain", dgain, 1, C);
        engine.normBackward(dy, x, gain, r, dx, dgain);
    }

    @Override
    public void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor y, Tensor r) {
        ready("residualNorm");
        check("h", h, N, C);
        check("z", z, N, C);
        optional("zr", zr, N, 1);
        check("out", out, N, C);
        check("gain", gain, 1, C);
        check("y", y, N, C);
        check("r", r, N, 1);
        engine.residualNorm(h, z, zr, out, gain, y, r);
    }

    @Override
    public void residualNormBackward(
            Tensor dy, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor r, Tensor dh, Tensor dz, Tensor dgain) {
        ready("residualNormBackward");
        check("dy", dy, N, C);
        if (zr != null) {
            check("z", z, N, C);
            check("zr", zr, N, 1);
            check("dz", dz, N, C);
        }
        check("out", out, N, C);
        check("gain", gain, 1, C);
        check("r", r, N, 1);
        check("dh", dh, N, C);
        check("dgain", dgain, 1, C);
        engine.residualNormBackward(dy, z, zr, out, gain, r, dh, dz, dgain);
    }

    @Override
    public void heads(Tensor qkv, Tensor r, boolean normV) {
        ready("heads");
        check("qkv", qkv, N, 3 * C);
        check("r", r, N, 3 * H);
        engine.heads(qkv, r, normV);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, boolean normV) {
        ready("headsBackward");
        check("dqkv", dqkv, N, 3 * C);
        check("qkv", qkv, N, 3 * C);
        check("r", r, N, 3 * H);
        engine.headsBackward(dqkv, qkv, r, normV);
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        ready("attention");
        check("qkv", qkv, N, 3 * C);
        check("o", o, N, C);
        check("lse", lse, N, H);
        engine.attention(qkv, o, lse);
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        ready("attentionBackward");
        check("qkv", qkv, N, 3 * C);
        check("o", o, N, C);
        check("lse", lse, N, H);
        check("dO", dO, N, C);
        check("dqkv", dqkv, N, 3 * C);
        engine.attentionBackward(qkv, o, lse, dO, dqkv);
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s) {
        ready("activation");
        check("f", f, N, 4 * C);
        optional("fr", fr, N, 1);
        check("s", s, N, 4 * C);
        engine.activation(f, fr, s);
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds) {
        ready("activationBackward");
        check("f", f, N, 4 * C);
        optional("fr", fr, N, 1);
        check("ds", ds, N, 4 * C);
        engine.activationBackward(f, fr, ds);
    }

    @Override
    public void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        fed("head");
        check("x", x, N, C);
        check("w", w, V, C);
        check("losses", losses, N, 1);
        if (dx != null || dw != null) {
            check("dx", dx, N, C);
            check("dw", dw, V, C);
        }
        engine.head(x, w, losses, scale, dx, dw);
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        outside("logits");
        check("x", x, N, C);
        if (row < 0 || row >= N) {
            throw refusal("row is " + row + ", expected 0 to " + (N - 1));
        }
        check("w", w, V, C);
        return engine.logits(x, row, w);
    }

    // --------------------------------------------------------------- optimizer

    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        ready("momentum");
        list("g", g);
        factors("scale", scale, g);
        like("m", m, g);
        engine.momentum(g, scale, beta, nesterov, m);
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
        ready("adam");
        list("g", g);
        factors("scale", scale, g);
        if (t < 1) {
            throw refusal("t is " + t + ", expected 1 or more");
        }
        like("m", m, g);
        like("v", v, g);
        engine.adam(g, scale, beta1, beta2, epsilon, t, m, v);
    }

    @Override
    public void orthogonalize(List<Tensor> x, Polynomial polynomial) {
        ready("orthogonalize");
        list("x", x);
        for (int k = 0; k < x.size(); k++) {
            Tensor t = x.get(k);
            if (Math.min(t.rows(), t.cols()) > C || t.size() > 4L * C * C) { // what engines set memory aside for
                throw refusal(at("x", k) + named(t) + " has shape " + shape(t.rows(), t.cols())
                        + ", expected at most a hidden matrix's, " + shape(4 * C, C)
                        + "; give it another direction than Muon's");
            }
        }
        present("polynomial", polynomial);
        engine.orthogonalize(x, polynomial);
    }

    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
        outside("readings");
        list("w", w);
        like("u", u, w);
        return engine.readings(w, u);
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        ready("move");
        list("w", w);
        like("u", u, w);
        factors("keep", keep, w);
        factors("push", push, w);
        engine.move(w, u, keep, push);
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, List<Tensor> weights) {
        ready("represent");
        list("masters", masters);
        factors("scale", scale, masters);
        like("weights", weights, masters);
        engine.represent(masters, scale, weights);
    }

    // ------------------------------------------------------------------- order

    private void open(String name) {
        operation = name;
        if (phase == Phase.CLOSED) {
            throw refusal("the engine is closed; open another one");
        }
    }

    private void declaring(String name) {
        open(name);
        if (phase == Phase.READY) {
            throw refusal("the engine has been committed; declare all tensors first, then commit once");
        }
    }

    private void ready(String name) {
        open(name);
        if (phase == Phase.DECLARING) {
            throw refusal("the engine is not committed; declare all tensors, then call commit");
        }
    }

    /** What waits for results, or does other work for other tokens, cannot be replayed. */
    private void outside(String name) {
        ready(name);
        if (replayed != null) {
            throw refusal("not possible inside replay '" + replayed + "'; call it before or after");
        }
    }

    private void fed(String name) {
        ready(name);
        if (!fed) {
            throw refusal("there are no tokens yet; call feed first");
        }
    }

    // --------------------------------------------------------------- arguments

    private void present(String name, Object argument) {
        if (argument == null) {
            throw refusal(name + " is null");
        }
    }

    private void mine(String name, Tensor tensor) {
        if (!own.contains(tensor)) {
            present(name, tensor);
            throw refusal(name + named(tensor) + " belongs to another engine");
        }
    }

    private void check(String name, Tensor tensor, int rows, int cols) {
        mine(name, tensor);
        if (tensor.rows() != rows || tensor.cols() != cols) {
            throw misshapen(name, tensor, rows, cols);
        }
    }

    private void optional(String name, Tensor tensor, int rows, int cols) {
        if (tensor != null) {
            check(name, tensor, rows, cols);
        }
    }

    private void list(String name, List<Tensor> tensors) {
        present(name, tensors);
        for (int k = 0; k < tensors.size(); k++) {
            if (!own.contains(tensors.get(k))) {
                mine(at(name, k), tensors.get(k));
            }
        }
    }

    /** As many tensors as there are others, each of the other's shape. */
    private void like(String name, List<Tensor> tensors, List<Tensor> others) {
        list(name, tensors);
        count(name, tensors.size(), others);
        for (int k = 0; k < others.size(); k++) {
            Tensor t = tensors.get(k), other = others.get(k);
            if (t.rows() != other.rows() || t.cols() != other.cols()) {
                throw misshapen(at(name, k), t, other.rows(), other.cols());
            }
        }
    }

    private void factors(String name, double[] factors, List<Tensor> tensors) {
        present(name, factors);
        count(name, factors.length, tensors);
    }

    private void count(String name, int met, List<Tensor> expected) {
        if (met != expected.size()) {
            throw refusal(name + " has length " + met + ", expected " + expected.size() + ", one per tensor");
        }
    }

    private EngineException misshapen(String name, Tensor tensor, int rows, int cols) {
        return refusal(name + (tensor.name().equals(name) ? "" : named(tensor)) + " has shape "
                + shape(tensor.rows(), tensor.cols()) + ", expected " + shape(rows, cols));
    }

    private EngineException refusal(String sentence) {
        return new EngineException(operation + ": " + sentence);
    }

    private static String at(String name, int k) {
        return name + "[" + k + "]";
    }

    private static String named(Tensor tensor) {
        return " '" + tensor.name() + "'";
    }

    private static String shape(int rows, int cols) {
        return "(" + rows + "," + cols + ")";
    }
}
