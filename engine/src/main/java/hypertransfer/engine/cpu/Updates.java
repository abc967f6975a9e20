package hypertransfer.engine.cpu;

import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.cpu.vector.Lanes;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;

/** What the optimizer does to every number, by vectors. */
final class Updates {
    private Updates() {}

    static void momentum(long g, long m, float beta, float fresh, boolean nesterov, int n) {
        long dm = m - g, whole = Lanes.whole(g, n), end = Lanes.end(g, n);
        FloatVector betas = Lanes.all(beta);
        for (; g < whole; g += Lanes.STEP) {
            FloatVector gradient = Lanes.load(g).mul(fresh);
            FloatVector mean = Lanes.load(g + dm).fma(betas, gradient);
            Lanes.store(mean, g + dm);
            Lanes.store(nesterov ? mean.fma(betas, gradient) : mean, g);
        }
        for (; g < end; g += 4) {
            float gradient = Lanes.get(g) * fresh;
            float mean = Lanes.get(g + dm) * beta + gradient;
            Lanes.put(g + dm, mean);
            Lanes.put(g, nesterov ? mean * beta + gradient : mean);
        }
    }

    static void adam(long g, long m, long v, float scale, Moments moments, int n) {
        float b1 = (float) moments.beta1(), f1 = (float) (1 - moments.beta1()), c1 = (float) (1 / moments.weight1());
        float b2 = (float) moments.beta2(), f2 = (float) (1 - moments.beta2()), c2 = (float) (1 / moments.weight2());
        float epsilon = (float) moments.epsilon();
        long dm = m - g, dv = v - g, whole = Lanes.whole(g, n), end = Lanes.end(g, n);
        FloatVector b1s = Lanes.all(b1), b2s = Lanes.all(b2);
        for (; g < whole; g += Lanes.STEP) {
            FloatVector gradient = Lanes.load(g).mul(scale);
            FloatVector mean = Lanes.load(g + dm).fma(b1s, gradient.mul(f1));
            FloatVector square =
                    Lanes.load(g + dv).fma(b2s, gradient.mul(gradient).mul(f2));
            Lanes.store(mean, g + dm);
            Lanes.store(square, g + dv);
            Lanes.store(mean.mul(c1).div(square.mul(c2).sqrt().add(epsilon)), g);
        }
        for (; g < end; g += 4) {
            float gradient = Lanes.get(g) * scale;
            float mean = Lanes.get(g + dm) * b1 + gradient * f1;
            float square = Lanes.get(g + dv) * b2 + gradient * gradient * f2;
            Lanes.put(g + dm, mean);
            Lanes.put(g + dv, square);
            Lanes.put(g, mean * c1 / ((float) Math.sqrt(square * c2) + epsilon));
        }
    }

    static void sign(long g, long m, float look, float freshLook, float keep, float freshKeep, int n) {
        long dm = m - g, whole = Lanes.whole(g, n), end = Lanes.end(g, n);
        FloatVector looks = Lanes.all(look), keeps = Lanes.all(keep), one = Lanes.all(1), zero = Lanes.zero();
        for (; g < whole; g += Lanes.STEP) {
            FloatVector gradient = Lanes.load(g), mean = Lanes.load(g + dm);
            FloatVector ahead = mean.fma(looks, gradient.mul(freshLook));
            Lanes.store(mean.fma(keeps, gradient.mul(freshKeep)), g + dm);
            FloatVector signs = ahead.blend(one, ahead.compare(VectorOperators.GT, zero)); // a NaN stays
            Lanes.store(signs.blend(one.neg(), ahead.compare(VectorOperators.LT, zero)), g);
        }
        for (; g < end; g += 4) {
            float gradient = Lanes.get(g), mean = Lanes.get(g + dm);
            Lanes.put(g, Math.signum(Math.fma(mean, look, gradient * freshLook)));
            Lanes.put(g + dm, Math.fma(mean, keep, gradient * freshKeep));
        }
    }

    static void clamp(long g, float scale, float limit, int n) {
        long whole = Lanes.whole(g, n), end = Lanes.end(g, n);
        for (; g < whole; g += Lanes.STEP) {
            Lanes.store(Lanes.load(g).mul(scale).min(limit).max(-limit), g);
        }
        for (; g < end; g += 4) {
            Lanes.put(g, Math.max(-limit, Math.min(limit, Lanes.get(g) * scale)));
        }
    }

    /** w -= lose w + push u: 1 - keep is small, so that as a float it has digits that keep itself would lose. */
    static void move(long w, long u, float lose, float push, int n) {
        long du = u - w, whole = Lanes.whole(w, n), end = Lanes.end(w, n);
        FloatVector pushes = Lanes.all(push);
        for (; w < whole; w += Lanes.STEP) {
            FloatVector v = Lanes.load(w);
            Lanes.store(v.sub(Lanes.load(w + du).fma(pushes, v.mul(lose))), w);
        }
        for (; w < end; w += 4) {
            float v = Lanes.get(w);
            Lanes.put(w, v - (push * Lanes.get(w + du) + lose * v));
        }
    }

    /** Divides numbers by the roots of their mean squares, of which there is one for each of them. */
    static void equalize(long x, long v, float beta, float fresh, float epsilon, int n) {
        long dv = v - x, whole = Lanes.whole(x, n), end = Lanes.end(x, n);
        FloatVector betas = Lanes.all(beta);
        for (; x < whole; x += Lanes.STEP) {
            FloatVector number = Lanes.load(x);
            FloatVector mean = Lanes.load(x + dv).fma(betas, number.mul(number).mul(fresh));
            Lanes.store(mean, x + dv);
            Lanes.store(number.div(mean.sqrt().add(epsilon)), x);
        }
        for (; x < end; x += 4) {
            float number = Lanes.get(x), mean = Lanes.get(x + dv) * beta + number * number * fresh;
            Lanes.put(x + dv, mean);
            Lanes.put(x, number / ((float) Math.sqrt(mean) + epsilon));
        }
    }

    /** The same where a whole row, of this sum of squares, has one; returns what it was multiplied by. */
    static float equalizeRow(long x, double squares, long v, double beta, double epsilon, int n) {
        double mean = beta * Lanes.get(v) + (1 - beta) * squares / n;
        Lanes.put(v, (float) mean);
        float factor = (float) (1 / (Math.sqrt(mean) + epsilon));
        Lanes.scale(factor, x, x, n);
        return factor;
    }
}
