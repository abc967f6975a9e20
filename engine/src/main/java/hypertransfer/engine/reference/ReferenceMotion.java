package hypertransfer.engine.reference;

import hypertransfer.engine.Format;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.function.DoubleUnaryOperator;

/** The optimizer's operations, tensor by tensor. */
final class ReferenceMotion implements Motion {
    @Override
    public void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m) {
        for (int k = 0; k < g.size(); k++) {
            double[] gs = read(g, k), ms = read(m, k);
            for (int i = 0; i < gs.length; i++) {
                double gradient = scale[k] * gs[i];
                ms[i] = beta * ms[i] + (1 - beta) * gradient;
                gs[i] = nesterov ? beta * ms[i] + (1 - beta) * gradient : ms[i];
            }
            write(g, k, gs);
            write(m, k, ms);
        }
    }

    @Override
    public void adam(List<Tensor> g, double[] scale, Moments moments, List<Tensor> m, List<Tensor> v) {
        double beta1 = moments.beta1(), beta2 = moments.beta2(), c1 = moments.weight1(), c2 = moments.weight2();
        for (int k = 0; k < g.size(); k++) {
            double[] gs = read(g, k), ms = read(m, k), vs = read(v, k);
            for (int i = 0; i < gs.length; i++) {
                double gradient = scale[k] * gs[i];
                ms[i] = beta1 * ms[i] + (1 - beta1) * gradient;
                vs[i] = beta2 * vs[i] + (1 - beta2) * gradient * gradient;
                gs[i] = ms[i] / c1 / (Math.sqrt(vs[i] / c2) + moments.epsilon());
            }
            write(g, k, gs);
            write(m, k, ms);
            write(v, k, vs);
        }
    }

    @Override
    public void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m) {
        for (int k = 0; k < g.size(); k++) {
            double[] gs = read(g, k), ms = read(m, k);
            for (int i = 0; i < gs.length; i++) {
                double gradient = scale[k] * gs[i];
                gs[i] = Math.signum(look * ms[i] + (1 - look) * gradient);
                ms[i] = keep * ms[i] + (1 - keep) * gradient;
            }
            write(g, k, gs);
            write(m, k, ms);
        }
    }

    @Override
    public void clamp(List<Tensor> g, double[] scale, double limit) {
        for (int k = 0; k < g.size(); k++) {
            double s = scale[k];
            write(g, k, map(read(g, k), x -> Math.clamp(s * x, -limit, limit)));
        }
    }

    @Override
    public void equalize(List<Tensor> x, double beta, double epsilon, double[] norm, List<Tensor> v) {
        for (int k = 0; k < x.size(); k++) {
            double[] xs = read(x, k), vs = read(v, k);
            double to = norm == null ? Math.sqrt(Rows.dot(xs, 0, xs, 0, xs.length)) : norm[k], squares = 0;
            int span = xs.length / vs.length; // the numbers of x that share one of v
            for (int i = 0; i < vs.length; i++) {
                double fresh = Rows.dot(xs, i * span, xs, i * span, span) / span;
                vs[i] = beta * vs[i] + (1 - beta) * fresh;
                for (int j = i * span; j < (i + 1) * span; j++) {
                    xs[j] /= Math.sqrt(vs[i]) + epsilon;
                    squares += xs[j] * xs[j];
                }
            }
            double factor = to / (Math.sqrt(squares) + epsilon);
            write(x, k, map(xs, number -> number * factor));
            write(v, k, vs);
        }
    }

    @Override
    public void cut(Tensor matrix, List<Tensor> blocks, boolean back) {
        Array whole = (Array) matrix;
        for (int k = 0; k < blocks.size(); k++) {
            Array block = (Array) blocks.get(k), from = back ? block : whole, to = back ? whole : block;
            int across = whole.cols() / block.cols();
            for (int i = 0; i < block.rows(); i++) {
                int inside = whole.row(k / across * block.rows() + i) + k % across * block.cols(), own = block.row(i);
                System.arraycopy(from.data(), back ? own : inside, to.data(), back ? inside : own, block.cols());
            }
        }
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
            double[] ws = read(w, k), us = read(u, k);
            readings[3 * k] = Math.sqrt(Rows.dot(ws, 0, ws, 0, ws.length));
            readings[3 * k + 1] = Math.sqrt(Rows.dot(us, 0, us, 0, us.length));
            readings[3 * k + 2] = Rows.dot(us, 0, ws, 0, ws.length);
        }
        return readings;
    }

    @Override
    public void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push) {
        for (int k = 0; k < w.size(); k++) {
            double[] ws = read(w, k), us = read(u, k);
            for (int i = 0; i < ws.length; i++) {
                ws[i] = keep[k] * ws[i] - push[k] * us[i];
            }
            write(w, k, ws);
        }
    }

    @Override
    public void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights) {
        for (int k = 0; k < masters.size(); k++) {
            double s = scale[k];
            write(weights, k, map(read(masters, k), w -> Format.round(s * w, grid)));
        }
    }

    private static double[] read(List<Tensor> list, int k) {
        return ((Array) list.get(k)).read();
    }

    private static void write(List<Tensor> list, int k, double[] values) {
        ((Array) list.get(k)).write(values);
    }

    private static double[] map(double[] values, DoubleUnaryOperator change) {
        return Arrays.stream(values).map(change).toArray();
    }
}
