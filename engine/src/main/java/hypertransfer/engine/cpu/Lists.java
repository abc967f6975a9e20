package hypertransfer.engine.cpu;

import hypertransfer.engine.Iteration;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import java.util.List;

/** The optimizer's operations, each by the class that computes it. */
record Lists(Updates updates, Equalizer equalizer, Cutter cutter, NewtonSchulz newtonSchulz, Bases bases)
        implements Motion {
    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        updates.momentum(g, scale, beta, nesterov, m);
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
        updates.adam(g, scale, beta1, beta2, epsilon, t, m, v);
    }

    @Override
    public void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        updates.sign(g, scale, look, keep, m);
    }

    @Override
    public void clamp(List<Tensor> g, double[] scale, double limit) {
        updates.clamp(g, scale, limit);
    }

    @Override
    public void equalize(List<Tensor> x, double beta, double epsilon, double[] norm, List<Tensor> v) {
        equalizer.run(x, beta, epsilon, norm, v);
    }

    @Override
    public void cut(Tensor whole, List<Tensor> blocks) {
        cutter.run(whole, blocks, false);
    }

    @Override
    public void join(List<Tensor> blocks, Tensor whole) {
        cutter.run(whole, blocks, true);
    }

    @Override
    public void orthogonalize(List<Tensor> x, Iteration iteration) {
        newtonSchulz.run(x, iteration);
    }

    @Override
    public void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right) {
        bases.gram(g, scale, beta, left, right);
    }

    @Override
    public void rotate(List<Tensor> g, List<Tensor> left, List<Tensor> right, boolean back) {
        bases.rotate(g, left, right, back);
    }

    @Override
    public void refine(List<Tensor> gram, double[] shift, List<Tensor> basis) {
        bases.refine(gram, shift, basis);
    }

    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
        return updates.readings(w, u);
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        updates.move(w, u, keep, push);
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        updates.represent(masters, scale, grid, weights);
    }
}
