package hypertransfer.engine.door;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Tensor;

/** The rules of what a network computes. */
final class CheckedLayers implements Layers {
    private final Engine engine;
    private final Rules rules;
    private final int N, C, D, H, V, Q, F;

    CheckedLayers(Engine engine, Rules rules) {
        this.engine = engine;
        this.rules = rules;
        Dims dims = engine.dims();
        N = dims.N();
        C = dims.C();
        D = dims.D();
        H = dims.H();
        V = dims.V();
        Q = dims.Q();
        F = dims.F();
    }

    @Override
    public void embed(Tensor w, Tensor x) {
        rules.fed("embed");
        rules.shape(V, C, "w", w);
        rules.shape(N, C, "x", x);
        engine.layers().embed(w, x);
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        rules.outside("embedBackward");
        rules.fed("embedBackward");
        rules.shape(N, C, "dx", dx);
        rules.shape(V, C, "dw", dw);
        engine.layers().embedBackward(dx, dw);
    }

    @Override
    public void product(Tensor x, Tensor w, Tensor y) {
        rules.ready("product");
        rules.mine("x", x);
        rules.mine("w", w);
        rules.shape(w.rows(), x.cols(), "w", w);
        rules.shape(x.rows(), w.rows(), "y", y);
        engine.layers().product(x, w, y);
    }

    @Override
    public void productInput(Tensor dy, Tensor w, Tensor dx) {
        rules.ready("productInput");
        rules.mine("dy", dy);
        rules.mine("w", w);
        rules.shape(dy.cols(), w.cols(), "w", w);
        rules.shape(dy.rows(), w.cols(), "dx", dx);
        engine.layers().productInput(dy, w, dx);
    }

    @Override
    public void productWeight(Tensor dy, Tensor x, Tensor dw) {
        rules.ready("productWeight");
        rules.mine("dy", dy);
        rules.mine("x", x);
        rules.shape(dy.rows(), x.cols(), "x", x);
        rules.shape(dy.cols(), x.cols(), "dw", dw);
        engine.layers().productWeight(dy, x, dw);
    }

    @Override
    public void addRows(Tensor y, Tensor b) {
        rules.ready("addRows");
        rules.periods(N, "y", y, "b", b);
        engine.layers().addRows(y, b);
    }

    @Override
    public void addRowsBackward(Tensor dy, Tensor db) {
        rules.ready("addRowsBackward");
        rules.periods(N, "dy", dy, "db", db);
        engine.layers().addRowsBackward(dy, db);
    }

    @Override
    public void norm(Tensor x, Norm norm, Tensor y) {
        rules.ready("norm");
        rules.shape(N, C, "x", x, "y", y);
        norm(norm);
        engine.layers().norm(x, norm, y);
    }

    private void norm(Norm norm) {
        rules.present("norm", norm);
        rules.shape(1, C, "gain", norm.gain());
        rules.shape(N, 1, "r", norm.r());
    }

    private void throughNorm(Norm norm) {
        norm(norm);
        rules.shape(1, C, "dgain", norm.dgain());
    }

    @Override
    public void normBackward(Tensor dy, Tensor x, Norm norm, Tensor dx) {
        rules.ready("normBackward");
        rules.shape(N, C, "dy", dy, "x", x, "dx", dx);
        throughNorm(norm);
        engine.layers().normBackward(dy, x, norm, dx);
    }

    @Override
    public void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor y) {
        rules.ready("residualNorm");
        rules.shape(N, C, "h", h, "z", z, "out", out);
        rules.shape(N, C, "y", y);
        norm(norm);
        rules.optional(N, 1, "zr", zr);
        engine.layers().residualNorm(h, z, zr, out, norm, y);
    }

    @Override
    public void residualNormBackward(Tensor dy, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor dh, Tensor dz) {
        rules.ready("residualNormBackward");
        rules.shape(N, C, "dy", dy);
        if (zr != null) {
            rules.shape(N, C, "z", z, "dz", dz);
            rules.shape(N, 1, "zr", zr);
        }
        rules.shape(N, C, "out", out, "dh", dh);
        throughNorm(norm);
        engine.layers().residualNormBackward(dy, z, zr, out, norm, dh, dz);
    }

    @Override
    public void heads(Tensor qkv, Tensor r, HeadRule rule) {
        rules.ready("heads");
        rules.shape(N, Q * D, "qkv", qkv);
        rules.shape(N, Q, "r", r);
        rules.present("rule", rule);
        engine.layers().heads(qkv, r, rule);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule) {
        rules.ready("headsBackward");
        rules.shape(N, Q * D, "dqkv", dqkv, "qkv", qkv);
        rules.shape(N, Q, "r", r);
        rules.present("rule", rule);
        engine.layers().headsBackward(dqkv, qkv, r, rule);
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        rules.ready("attention");
        rules.shape(N, Q * D, "qkv", qkv);
        rules.shape(N, C, "o", o);
        rules.shape(N, H, "lse", lse);
        engine.layers().attention(qkv, o, lse);
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        rules.ready("attentionBackward");
        rules.shape(N, Q * D, "qkv", qkv, "dqkv", dqkv);
        rules.shape(N, C, "o", o, "dO", dO);
        rules.shape(N, H, "lse", lse);
        engine.layers().attentionBackward(qkv, o, lse, dO, dqkv);
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind) {
        rules.ready("activation");
        rules.present("kind", kind);
        rules.shape(N, F * kind.inputs(), "f", f);
        rules.shape(N, F, "s", s);
        rules.optional(N, kind.inputs(), "fr", fr);
        engine.layers().activation(f, fr, s, kind);
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind) {
        rules.ready("activationBackward");
        rules.present("kind", kind);
        rules.shape(N, F * kind.inputs(), "f", f, "df", df);
        rules.shape(N, F, "ds", ds);
        rules.optional(N, kind.inputs(), "fr", fr);
        engine.layers().activationBackward(f, fr, ds, df, kind);
    }

    @Override
    public void productHeads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        rules.ready("productHeads");
        rules.shape(N, C, "x", x);
        rules.shape(Q * D, C, "w", w);
        rules.shape(N, Q * D, "qkv", qkv);
        rules.shape(N, Q, "r", r);
        rules.present("rule", rule);
        engine.layers().productHeads(x, w, qkv, r, rule);
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
        engine.layers().attentionHeadsBackward(qkv, r, rule, o, lse, dO, dqkv);
    }

    @Override
    public void productActivation(Tensor x, Tensor w, Tensor f, Tensor s, Nonlinearity kind) {
        rules.ready("productActivation");
        rules.present("kind", kind);
        rules.shape(N, C, "x", x);
        rules.shape(F * kind.inputs(), C, "w", w);
        rules.shape(N, F * kind.inputs(), "f", f);
        rules.shape(N, F, "s", s);
        engine.layers().productActivation(x, w, f, s, kind);
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
        engine.layers().productActivationBackward(dy, w, f, s, ds, df, kind);
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
        engine.layers().head(x, w, losses, scale, dx, dw);
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        rules.outside("logits");
        rules.shape(N, C, "x", x);
        rules.range(0, N - 1, "row", row);
        rules.shape(V, C, "w", w);
        return engine.layers().logits(x, row, w);
    }
}
