package hypertransfer.engine.reference;

/** What the optimizer does to every number of a tensor. */
final class Updates {
    private Updates() {}

    static void momentum(Array g, double scale, double beta, boolean nesterov, Array m) {
        for (int i = 0; i < g.size(); i++) {
            double gradient = scale * g.data()[g.row(0) + i];
            double mean = beta * m.data()[m.row(0) + i] + (1 - beta) * gradient;
            m.data()[m.row(0) + i] = mean;
            g.data()[g.row(0) + i] = nesterov ? beta * mean + (1 - beta) * gradient : mean;
        }
    }

    static void adam(Array g, double scale, double beta1, double beta2, double epsilon, long t, Array m, Array v) {
        double c1 = 1 - Math.pow(beta1, t), c2 = 1 - Math.pow(beta2, t);
        for (int i = 0; i < g.size(); i++) {
            double gradient = scale * g.data()[g.row(0) + i];
            double mean = beta1 * m.data()[m.row(0) + i] + (1 - beta1) * gradient;
            double square = beta2 * v.data()[v.row(0) + i] + (1 - beta2) * gradient * gradient;
            m.data()[m.row(0) + i] = mean;
            v.data()[v.row(0) + i] = square;
            g.data()[g.row(0) + i] = mean / c1 / (Math.sqrt(square / c2) + epsilon);
        }
    }

    static void sign(Array g, double scale, double look, double keep, Array m) {
        for (int i = 0; i < g.size(); i++) {
            double gradient = scale * g.data()[g.row(0) + i], mean = m.data()[m.row(0) + i];
            g.data()[g.row(0) + i] = Math.signum(look * mean + (1 - look) * gradient);
            m.data()[m.row(0) + i] = keep * mean + (1 - keep) * gradient;
        }
    }

    static void equalize(Array x, double beta, double epsilon, double norm, Array v) {
        int span = x.cols() / v.cols(); // the numbers of x that share one of v
        double squares = 0;
        for (int i = 0; i < v.size(); i++) {
            int from = x.row(0) + i * span, at = v.row(0) + i;
            double fresh = Rows.dot(x.data(), from, x.data(), from, span) / span;
            v.data()[at] = beta * v.data()[at] + (1 - beta) * fresh;
            for (int j = from; j < from + span; j++) {
                x.data()[j] /= Math.sqrt(v.data()[at]) + epsilon;
                squares += x.data()[j] * x.data()[j];
            }
        }
        for (int j = x.row(0); j < x.row(x.rows()); j++) {
            x.data()[j] *= norm / (Math.sqrt(squares) + epsilon);
        }
    }

    static void move(Array w, Array u, double keep, double push) {
        for (int i = 0; i < w.size(); i++) {
            w.data()[w.row(0) + i] = keep * w.data()[w.row(0) + i] - push * u.data()[u.row(0) + i];
        }
    }
}
