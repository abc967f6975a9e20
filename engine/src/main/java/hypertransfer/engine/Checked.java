package hypertransfer.engine;

import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The door in front of every engine: it holds all rules of {@link Engine} about shapes, lists, tokens, rows and order,
 * so that the engine behind it computes and checks nothing. A refusal names the operation, the argument, what was met
 * and what was expected. A check is a few comparisons and allocates nothing.
 */
public final class Checked implements Engine {
    private final Engine engine;
    private final Dims dims;
    private final int N, C, D, H, V, Q, F;
    private final Rules rules = new Rules();

    public Checked(Engine engine) {
        this.engine = engine;
        dims = engine.dims();
        N = dims.N();
        C = dims.C();
        D = dims.D();
        H = dims.H();
        V = dims.V();
        Q = dims.Q();
        F = dims.F();
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
    public Format weights() {
        return engine.weights();
    }

    @Override
    public Optional<String> remark() {
        return engine.remark();
    }

    @Override
    public void decisions(Path file) {
        rules.open("decisions");
        rules.present("file", file);
        engine.decisions(file);
    }

    // ------------------------------------------------------------------ memory

    @Override
    public Tensor tensor(Role role, String name, int rows, int cols) {
        rules.declaring("tensor");
        rules.present("role", role);
        rules.present("name", name);
        if (rows <= 0 || cols <= 0 || (long) rows * cols > Integer.MAX_VALUE) {
            throw rules.refusal("'" + name + "' has shape " + Rules.text(rows, cols)
                    + ", expected at least 1 row and 1 column and fewer than 2^31 numbers");
        }
        return rules.owned(engine.tensor(role, name, rows, cols), role == Role.EXACT_MASTER);
    }

    @Override
    public Tensor slice(Tensor whole, String name, int from, int rows) {
        rules.open("slice");
        rules.any("whole", whole);
        rules.present("name", name);
        if (from < 0 || rows <= 0 || rows > whole.rows() - from) {
            throw rules.refusal("'" + name + "' takes " + rows + " rows from row " + from + " on, expected rows of '"
                    + whole.name() + "', which has " + whole.rows());
        }
        return rules.owned(engine.slice(whole, name, from, rows), rules.exact(whole));
    }

    @Override
    public Memory commit() {
        rules.declaring("commit");
        Memory memory = engine.commit();
        rules.committed();
        return memory;
    }

    @Override
    public void write(Tensor tensor, double[] values) {
        rules.outside("write");
        rules.any("tensor", tensor);
        rules.present("values", values);
        if (values.length != tensor.size()) {
            throw rules.refusal(values.length + " values for '" + tensor.name() + "' of shape "
                    + Rules.text(tensor.rows(), tensor.cols()) + ", expected " + tensor.size());
        }
        engine.write(tensor, values);
    }

    @Override
    public double[] read(Tensor tensor) {
        rules.outside("read");
        rules.any("tensor", tensor);
        return engine.read(tensor);
    }

    @Override
    public double sum(Tensor tensor) {
        rules.outside("sum");
        rules.mine("tensor", tensor);
        return engine.sum(tensor);
    }

    @Override
    public Motion motion() {
        return this; // which checks
    }

    @Override
    public Ranks carrier(Ranks ranks, Exchange choice) {
        return engine.carrier(ranks, choice);
    }

    @Override
    public void pack(List<Tensor> tensors, MemorySegment to) {
        rules.outside("pack");
        rules.room("to", tensors, to);
        engine.pack(tensors, to);
    }

    @Override
    public void unpack(MemorySegment from, List<Tensor> tensors) {
        rules.outside("unpack");
        rules.room("from", tensors, from);
        engine.unpack(from, tensors);
    }

    @Override
    public void zero(List<Tensor> tensors) {
        rules.ready("zero");
        rules.list("tensors", tensors);
        engine.zero(tensors);
    }

    @Override
    public void close() {
        if (rules.closes()) {
            engine.close();
        }
    }

    // ----------------------------------------------------------------- network

    @Override
    public void feed(int[] inputs, int[] targets) {
        rules.outside("feed");
        rules.tokens(dims, "inputs", inputs);
        rules.tokens(dims, "targets", targets);
        engine.feed(inputs, targets);
        rules.nowFed();
    }

    @Override
    public void replay(String name, Runnable operations) {
        rules.outside("replay");
        rules.present("name", name);
        rules.present("operations", operations);
        rules.replaying(name);
        try {
            engine.replay(name, operations);
        } finally {
            rules.replaying(null);
        }
    }

    @Override
    public void until(BooleanSupplier stop, Runnable work) {
        rules.outside("until");
        rules.present("stop", stop);
        rules.present("work", work);
        engine.until(stop, work);
    }

    @Override
    public void embed(Tensor w, Tensor x) {
        rules.fed("embed");
        rules.shape(V, C, "w", w);
        rules.shape(N, C, "x", x);
        engine.embed(w, x);
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        rules.outside("embedBackward");
        rules.fed("embedBackward");
        rules.shape(N, C, "dx", dx);
        rules.shape(V, C, "dw", dw);
        engine.embedBackward(dx, dw);
    }

    @Override
    public void product(Tensor x, Tensor w, Tensor y) {
        rules.ready("product");
        rules.mine("x", x);
        rules.mine("w", w);
        rules.shape(w.rows(), x.cols(), "w", w);
        rules.shape(x.rows(), w.rows(), "y", y);
        engine.product(x, w, y);
    }

    @Override
    public void productInput(Tensor dy, Tensor w, Tensor dx) {
        rules.ready("productInput");
        rules.mine("dy", dy);
        rules.mine("w", w);
        rules.shape(dy.cols(), w.cols(), "w", w);
        rules.shape(dy.rows(), w.cols(), "dx", dx);
        engine.productInput(dy, w, dx);
    }

    @Override
    public void productWeight(Tensor dy, Tensor x, Tensor dw) {
        rules.ready("productWeight");
        rules.mine("dy", dy);
        rules.mine("x", x);
        rules.shape(dy.rows(), x.cols(), "x", x);
        rules.shape(dy.cols(), x.cols(), "dw", dw);
        engine.productWeight(dy, x, dw);
    }

    @Override
    public void shift(Tensor y, Tensor b) {
        rules.ready("shift");
        rules.periods(N, "y", y, "b", b);
        engine.shift(y, b);
    }

    @Override
    public void shiftBackward(Tensor dy, Tensor db) {
        rules.ready("shiftBackward");
        rules.periods(N, "dy", dy, "db", db);
        engine.shiftBackward(dy, db);
    }

    @Override
    public void norm(Tensor x, Tensor gain, Tensor y, Tensor r, boolean center) {
        rules.ready("norm");
        rules.shape(N, C, "x", x, "y", y);
        rules.shape(1, C, "gain", gain);
        rules.shape(N, 1, "r", r);
        engine.norm(x, gain, y, r, center);
    }

    @Override
    public void normBackward(Tensor dy, Tensor x, Tensor gain, Tensor r, Tensor dx, Tensor dgain, boolean center) {
        rules.ready("normBackward");
        rules.shape(N, C, "dy", dy, "x", x, "dx", dx);
        rules.shape(1, C, "gain", gain, "dgain", dgain);
        rules.shape(N, 1, "r", r);
        engine.normBackward(dy, x, gain, r, dx, dgain, center);
    }

    @Override
    public void residualNorm(
            Tensor h, Tensor z, Tensor zr, Tensor out, Tensor gain, Tensor y, Tensor r, boolean center) {
        rules.ready("residualNorm");
        rules.shape(N, C, "h", h, "z", z, "out", out);
        rules.shape(N, C, "y", y);
        rules.shape(1, C, "gain", gain);
        rules.shape(N, 1, "r", r);
        rules.optional(N, 1, "zr", zr);
        engine.residualNorm(h, z, zr, out, gain, y, r, center);
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
        rules.ready("residualNormBackward");
        rules.shape(N, C, "dy", dy);
        if (zr != null) {
            rules.shape(N, C, "z", z, "dz", dz);
            rules.shape(N, 1, "zr", zr);
        }
        rules.shape(N, C, "out", out, "dh", dh);
        rules.shape(1, C, "gain", gain, "dgain", dgain);
        rules.shape(N, 1, "r", r);
        engine.residualNormBackward(dy, z, zr, out, gain, r, dh, dz, dgain, center);
    }

    @Override
    public void heads(Tensor qkv, Tensor r, HeadRule rule) {
        rules.ready("heads");
        rules.shape(N, Q * D, "qkv", qkv);
        rules.shape(N, Q, "r", r);
        rules.present("rule", rule);
        engine.heads(qkv, r, rule);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule) {
        rules.ready("headsBackward");
        rules.shape(N, Q * D, "dqkv", dqkv, "qkv", qkv);
        rules.shape(N, Q, "r", r);
        rules.present("rule", rule);
        engine.headsBackward(dqkv, qkv, r, rule);
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        rules.ready("attention");
        rules.shape(N, Q * D, "qkv", qkv);
        rules.shape(N, C, "o", o);
        rules.shape(N, H, "lse", lse);
        engine.attention(qkv, o, lse);
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        rules.ready("attentionBackward");
        rules.shape(N, Q * D, "qkv", qkv, "dqkv", dqkv);
        rules.shape(N, C, "o", o, "dO", dO);
        rules.shape(N, H, "lse", lse);
        engine.attentionBackward(qkv, o, lse, dO, dqkv);
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind) {
        rules.ready("activation");
        rules.present("kind", kind);
        rules.shape(N, F * kind.inputs(), "f", f);
        rules.shape(N, F, "s", s);
        rules.optional(N, kind.inputs(), "fr", fr);
        engine.activation(f, fr, s, kind);
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind) {
        rules.ready("activationBackward");
        rules.present("kind", kind);
        rules.shape(N, F * kind.inputs(), "f", f, "df", df);
        rules.shape(N, F, "ds", ds);
        rules.optional(N, kind.inputs(), "fr", fr);
        engine.activationBackward(f, fr, ds, df, kind);
    }

    @Override
    public void productHeads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        rules.ready("productHeads");
        rules.shape(N, C, "x", x);
        rules.shape(Q * D, C, "w", w);
        rules.shape(N, Q * D, "qkv", qkv);
        rules.shape(N, Q, "r", r);
        rules.present("rule", rule);
        engine.productHeads(x, w, qkv, r, rule);
    }

    @Override
    public void attentionHeadsBackward(
            Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        rules.ready("attentionHeadsBackward");
        rules.shape(N, Q * D, "qkv", qkv, "dqkv", dqkv);
        rules.shape(N, Q, "r", r);
        rules.present("rule", rule);
        rules.shape(N, C, "o", o, "dO", dO);
        rules.shape(N, H, "lse", lse);
        engine.attentionHeadsBackward(qkv, r, rule, o, lse, dO, dqkv);
    }

    @Override
    public void productActivation(Tensor x, Tensor w, Tensor f, Tensor s, Nonlinearity kind) {
        rules.ready("productActivation");
        rules.present("kind", kind);
        rules.shape(N, C, "x", x);
        rules.shape(F * kind.inputs(), C, "w", w);
        rules.shape(N, F * kind.inputs(), "f", f);
        rules.shape(N, F, "s", s);
        engine.productActivation(x, w, f, s, kind);
    }

    @Override
    public void productActivationBackward(
            Tensor dy, Tensor w, Tensor f, Tensor s, Tensor ds, Tensor df, Nonlinearity kind) {
        rules.ready("productActivationBackward");
        rules.present("kind", kind);
        rules.shape(N, C, "dy", dy);
        rules.shape(C, F, "w", w);
        rules.shape(N, F * kind.inputs(), "f", f, "df", df);
        rules.shape(N, F, "s", s, "ds", ds);
        engine.productActivationBackward(dy, w, f, s, ds, df, kind);
    }

    @Override
    public void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        rules.fed("head");
        rules.shape(N, C, "x", x);
        rules.shape(V, C, "w", w);
        rules.shape(N, 1, "losses", losses);
        if (dx != null || dw != null) {
            rules.shape(N, C, "dx", dx);
            rules.shape(V, C, "dw", dw);
        }
        engine.head(x, w, losses, scale, dx, dw);
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        rules.outside("logits");
        rules.shape(N, C, "x", x);
        rules.range(0, N - 1, "row", row);
        rules.shape(V, C, "w", w);
        return engine.logits(x, row, w);
    }

    // --------------------------------------------------------------- optimizer

    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        rules.ready("momentum");
        rules.scaled(g, scale);
        rules.like(g, "m", m);
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
        rules.ready("adam");
        rules.scaled(g, scale);
        rules.range(1, Long.MAX_VALUE, "t", t);
        rules.like(g, "m", m);
        rules.like(g, "v", v);
        engine.adam(g, scale, beta1, beta2, epsilon, t, m, v);
    }

    @Override
    public void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        rules.ready("sign");
        rules.scaled(g, scale);
        rules.like(g, "m", m);
        engine.sign(g, scale, look, keep, m);
    }

    @Override
    public void clamp(List<Tensor> g, double[] scale, double limit) {
        rules.ready("clamp");
        rules.scaled(g, scale);
        rules.aboveZero("limit", limit);
        engine.clamp(g, scale, limit);
    }

    @Override
    public void equalize(List<Tensor> g, double beta, double epsilon, double[] norm, List<Tensor> v) {
        rules.ready("equalize");
        rules.list("g", g);
        if (norm != null) {
            rules.factors(g, "norm", norm);
        }
        rules.rowsOf(g, "v", v);
        rules.aboveZero("epsilon", epsilon);
        engine.equalize(g, beta, epsilon, norm, v);
    }

    @Override
    public void cut(Tensor whole, List<Tensor> blocks) {
        rules.ready("cut");
        rules.blocks(whole, blocks);
        engine.cut(whole, blocks);
    }

    @Override
    public void join(List<Tensor> blocks, Tensor whole) {
        rules.ready("join");
        rules.blocks(whole, blocks);
        engine.join(blocks, whole);
    }

    @Override
    public void orthogonalize(List<Tensor> x, Iteration iteration) {
        rules.ready("orthogonalize");
        rules.list("x", x);
        for (int k = 0; k < x.size(); k++) {
            Tensor t = x.get(k);
            int longest = Math.max(4 * C, F);
            if (Math.min(t.rows(), t.cols()) > C
                    || t.size() > (long) longest * C) { // what engines set memory aside for
                String expected = "at most a hidden matrix's, " + Rules.text(longest, C);
                throw rules.misshapen("x[" + k + "]", t, expected + "; give it another direction than Muon's");
            }
        }
        rules.present("iteration", iteration);
        engine.orthogonalize(x, iteration);
    }

    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
        rules.outside("readings");
        rules.masters("w", w);
        rules.masters("u", u);
        rules.alike(w, "u", u);
        return engine.readings(w, u);
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        rules.ready("move");
        rules.masters("w", w);
        rules.like(w, "u", u);
        rules.factors(w, "keep", keep);
        rules.factors(w, "push", push);
        engine.move(w, u, keep, push);
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        rules.ready("represent");
        rules.masters("masters", masters);
        rules.factors(masters, "scale", scale);
        rules.range(1, FULL_GRID, "grid", grid);
        rules.like(masters, "weights", weights);
        engine.represent(masters, scale, grid, weights);
    }
}
