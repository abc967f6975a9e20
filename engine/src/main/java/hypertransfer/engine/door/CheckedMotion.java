package hypertransfer.engine.door;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import java.util.List;

/** The rules of what an optimizer does. */
record CheckedMotion(Engine engine, Rules rules) implements Motion {
    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        rules.ready("momentum");
        rules.scaled(g, scale);
        rules.like(g, "m", m);
        engine.motion().momentum(g, scale, beta, nesterov, m);
    }

    @Override
    public void adam(List<Tensor> g, double[] scale, Moments moments, List<Tensor> m, List<Tensor> v) {
        rules.ready("adam");
        rules.scaled(g, scale);
        rules.present("moments", moments);
        rules.range(1, Long.MAX_VALUE, "t", moments.t());
        rules.like(g, "m", m);
        rules.like(g, "v", v);
        engine.motion().adam(g, scale, moments, m, v);
    }

    @Override
    public void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        rules.ready("sign");
        rules.scaled(g, scale);
        rules.like(g, "m", m);
        engine.motion().sign(g, scale, look, keep, m);
    }

    @Override
    public void clamp(List<Tensor> g, double[] scale, double limit) {
        rules.ready("clamp");
        rules.scaled(g, scale);
        rules.aboveZero("limit", limit);
        engine.motion().clamp(g, scale, limit);
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
        engine.motion().equalize(g, beta, epsilon, norm, v);
    }

    @Override
    public void cut(Tensor whole, List<Tensor> blocks) {
        rules.ready("cut");
        rules.blocks(whole, blocks);
        engine.motion().cut(whole, blocks);
    }

    @Override
    public void join(List<Tensor> blocks, Tensor whole) {
        rules.ready("join");
        rules.blocks(whole, blocks);
        engine.motion().join(blocks, whole);
    }

    @Override
    public void orthogonalize(List<Tensor> x, Iteration iteration) {
        rules.ready("orthogonalize");
        rules.list("x", x);
        hidden("x", x, "Muon's");
        rules.present("iteration", iteration);
        engine.motion().orthogonalize(x, iteration);
    }

    /** Matrices no larger than engines set memory aside for. */
    private void hidden(String name, List<Tensor> x, String direction) {
        int C = engine.dims().C(), longest = engine.dims().longest();
        for (int k = 0; k < x.size(); k++) {
            Tensor t = x.get(k);
            if (Math.min(t.rows(), t.cols()) > C || t.size() > (long) longest * C) {
                String expected = "at most a hidden matrix's, " + Rules.text(longest, C);
                throw rules.misshapen(
                        name + "[" + k + "]", t, expected + "; give it another direction than " + direction);
            }
        }
    }

    @Override
    public void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right) {
        rules.ready("gram");
        rules.scaled(g, scale);
        sides(g, left, right);
        engine.motion().gram(g, scale, beta, left, right);
    }

    @Override
    public void rotate(List<Tensor> g, List<Tensor> left, List<Tensor> right, boolean back) {
        rules.ready("rotate");
        rules.list("g", g);
        sides(g, left, right);
        engine.motion().rotate(g, left, right, back);
    }

    private void sides(List<Tensor> g, List<Tensor> left, List<Tensor> right) {
        hidden("g", g, "SOAP's");
        rules.sides(g, "left", left, Tensor::rows);
        rules.sides(g, "right", right, Tensor::cols);
    }

    @Override
    public void refine(List<Tensor> gram, double[] shift, List<Tensor> basis) {
        rules.ready("refine");
        rules.list("gram", gram);
        rules.factors(gram, "shift", shift);
        rules.like(gram, "basis", basis);
        int longest = engine.dims().longest();
        for (int k = 0; k < gram.size(); k++) {
            Tensor t = gram.get(k);
            if (t.rows() != t.cols() || t.rows() > longest) {
                throw rules.misshapen("gram[" + k + "]", t, "a square of at most " + longest + " rows");
            }
            rules.aboveZero("shift[" + k + "]", shift[k]);
        }
        engine.motion().refine(gram, shift, basis);
    }

    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
        rules.outside("readings");
        rules.masters("w", w);
        rules.masters("u", u);
        rules.alike(w, "u", u);
        return engine.motion().readings(w, u);
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        rules.ready("move");
        rules.masters("w", w);
        rules.like(w, "u", u);
        rules.factors(w, "keep", keep);
        rules.factors(w, "push", push);
        engine.motion().move(w, u, keep, push);
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        rules.ready("represent");
        rules.masters("masters", masters);
        rules.factors(masters, "scale", scale);
        rules.range(1, Format.FULL_GRID, "grid", grid);
        rules.like(masters, "weights", weights);
        engine.motion().represent(masters, scale, grid, weights);
    }
}
