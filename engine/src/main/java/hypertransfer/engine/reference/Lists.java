package hypertransfer.engine.reference;

import hypertransfer.engine.Format;
import hypertransfer.engine.Iteration;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import java.util.Arrays;
import java.util.List;

/** The optimizer's operations, tensor by tensor. */
final class Lists implements Motion {
    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        for (int k = 0; k < g.size(); k++) {
            Updates.momentum((Array) g.get(k), scale[k], beta, nesterov, (Array) m.get(k));
        }
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
        for (int k = 0; k < g.size(); k++) {
            Array gk = (Array) g.get(k), mk = (Array) m.get(k), vk = (Array) v.get(k);
            Updates.adam(gk, scale[k], beta1, beta2, epsilon, t, mk, vk);
        }
    }

    @Override
    public void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        for (int k = 0; k < g.size(); k++) {
            Updates.sign((Array) g.get(k), scale[k], look, keep, (Array) m.get(k));
        }
    }

    @Override
    public void clamp(List<Tensor> g, double[] scale, double limit) {
        for (int k = 0; k < g.size(); k++) {
            double s = scale[k];
            Array gk = (Array) g.get(k);
            gk.write(Arrays.stream(gk.read())
                    .map(x -> Math.clamp(s * x, -limit, limit))
                    .toArray());
        }
    }

    @Override
    public void equalize(List<Tensor> x, double beta, double epsilon, double[] norm, List<Tensor> v) {
        for (int k = 0; k < x.size(); k++) {
            double own = readings(List.of(x.get(k)), List.of(x.get(k)))[0];
            Updates.equalize((Array) x.get(k), beta, epsilon, norm == null ? own : norm[k], (Array) v.get(k));
        }
    }

    @Override
    public void cut(Tensor whole, List<Tensor> blocks) {
        Array from = (Array) whole;
        for (int k = 0; k < blocks.size(); k++) {
            Array to = (Array) blocks.get(k);
            for (int i = 0; i < to.rows(); i++) {
                System.arraycopy(from.data(), inside(from, to, k, i), to.data(), to.row(i), to.cols());
            }
        }
    }

    @Override
    public void join(List<Tensor> blocks, Tensor whole) {
        Array to = (Array) whole;
        for (int k = 0; k < blocks.size(); k++) {
            Array from = (Array) blocks.get(k);
            for (int i = 0; i < from.rows(); i++) {
                System.arraycopy(from.data(), from.row(i), to.data(), inside(to, from, k, i), from.cols());
            }
        }
    }

    /** Where row i of block k lies in the whole. */
    private static int inside(Array whole, Array block, int k, int i) {
        int across = whole.cols() / block.cols();
        return whole.row(k / across * block.rows() + i) + k % across * block.cols();
    }

    @Override
    public void orthogonalize(List<Tensor> x, Iteration iteration) {
        for (Tensor tensor : x) {
            Array array = (Array) tensor;
            array.write(NewtonSchulz.orthogonalize(array.read(), array.rows(), array.cols(), iteration));
        }
    }

    @Override
    public void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right) {
        for (int k = 0; k < g.size(); k++) {
            Bases.gram((Array) g.get(k), scale[k], beta, (Array) left.get(k), (Array) right.get(k));
        }
    }

    @Override
    public void rotate(List<Tensor> g, List<Tensor> left, List<Tensor> right, boolean back) {
        for (int k = 0; k < g.size(); k++) {
            Bases.rotate((Array) g.get(k), (Array) left.get(k), (Array) right.get(k), back);
        }
    }

    @Override
    public void refine(List<Tensor> gram, double[] shift, List<Tensor> basis) {
        for (int k = 0; k < gram.size(); k++) {
            Bases.refine((Array) gram.get(k), shift[k], (Array) basis.get(k));
        }
    }

    @Override
    public double[] readings(List<Tensor> w, List<Tensor> u) {
        double[] readings = new double[3 * w.size()];
        for (int k = 0; k < w.size(); k++) {
            double[] ws = ((Array) w.get(k)).read(), us = ((Array) u.get(k)).read();
            readings[3 * k] = Math.sqrt(Rows.dot(ws, 0, ws, 0, ws.length));
            readings[3 * k + 1] = Math.sqrt(Rows.dot(us, 0, us, 0, us.length));
            readings[3 * k + 2] = Rows.dot(us, 0, ws, 0, ws.length);
        }
        return readings;
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        for (int k = 0; k < w.size(); k++) {
            Updates.move((Array) w.get(k), (Array) u.get(k), keep[k], push[k]);
        }
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        for (int k = 0; k < masters.size(); k++) {
            double s = scale[k];
            double[] values = ((Array) masters.get(k)).read();
            ((Array) weights.get(k))
                    .write(Arrays.stream(values)
                            .map(w -> Format.round(s * w, grid))
                            .toArray());
        }
    }
}
