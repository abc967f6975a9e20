package hypertransfer.prediction;

import hypertransfer.core.Rates;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntToDoubleFunction;
import java.util.stream.IntStream;

/**
 * The norm and the rates of one hidden matrix over a whole run, before the run: the algebra of a step with the expected
 * |u| and {@code <u,w>} in place of readings.
 *
 * <p>With c = |u|, k = 1 - e l and the memory's terms i: {@code s^2 <- k^2 s^2 + e^2 c^2 + 2 e k c sum(weight_i q_i)} and
 * {@code q_i <- decay_i (k q_i + e c)}. While the run is early, c is smaller and a memory of its own counts in their place:
 * see {@link Onset}. All arrays have one number per step, before its update.
 *
 * @param norm |w| before each step
 * @param nominal eta of a Base space, the angle of a Hyperball
 * @param effective the effective rate, in radians
 */
public record Prediction(double[] norm, double[] nominal, double[] effective) {
    /**
     * A plain run.
     *
     * @param matrix what is expected of the matrix
     * @param space where it lives
     * @param schedule the nominal rate of a Base space, the angle of a Hyperball
     * @return the whole run
     */
    public static Prediction of(Expected matrix, Space space, Schedule schedule) {
        return run(matrix, space, schedule.steps(), schedule::rate, false);
    }

    /**
     * A run in this space that has these effective rates: its nominal rates are the answer.
     *
     * @param matrix what is expected of the matrix
     * @param space where it lives
     * @param effective the effective rate of each step
     * @return the whole run
     */
    public static Prediction following(Expected matrix, Space space, double[] effective) {
        if (effective.length == 0) {
            throw new Refusal("effective rates to follow: there are none; give one per step");
        }
        return run(matrix, space, effective.length, t -> effective[t], true);
    }

    private static Prediction run(
            Expected matrix, Space space, int steps, IntToDoubleFunction rates, boolean effective) {
        Prediction p = new Prediction(new double[steps], new double[steps], new double[steps]);
        Onset onset = matrix.onset();
        double persistent = 0; // -<u,w> / c as long as all is early
        double l = space.decay();
        double s = matrix.norm();
        List<Memory.Term> terms = matrix.memory().terms();
        double[] q = new double[terms.size()]; // each term's -<u,w> / c
        for (int t = 0; t < steps; t++) {
            double rate = rates.applyAsDouble(t);
            if (!(rate >= 0 && rate < Double.POSITIVE_INFINITY)) {
                throw new Refusal("rate of step " + t + " is " + rate + "; it must be a finite number, zero or more");
            }
            if (!effective && rate * l >= 1) {
                throw new Refusal("learning rate " + rate + " of step " + t + " times weight decay " + l
                        + " is 1 or more, which would erase the matrix; lower either of them");
            }
            p.norm[t] = s;
            double early = onset.left(t);
            double c = matrix.direction() * (1 - early * (1 - onset.part()));
            switch (space) {
                case Hyperball h -> {
                    p.nominal[t] = rate;
                    p.effective[t] = rate;
                }
                case Base b -> {
                    double e = effective ? Rates.fair(rate, l, c, s) : rate;
                    p.nominal[t] = e;
                    p.effective[t] = effective ? rate : Rates.effective(e, l, c, s);
                    double k = 1 - e * l;
                    double along = early * persistent;
                    persistent = onset.decay() * (k * persistent + e * c);
                    for (int i = 0; i < q.length; i++) {
                        along += (1 - early) * terms.get(i).weight() * q[i];
                        q[i] = terms.get(i).decay() * (k * q[i] + e * c);
                    }
                    // Memories that contradict each other could ask for less than a step straight inwards.
                    double push = e * c, cosine = Math.clamp(along / s, -1, 1);
                    s = Math.sqrt(Math.max(0, k * k * s * s + push * push + 2 * k * push * cosine * s));
                }
                default -> throw new Refusal("norms are predicted in Base and on a Hyperball, not in " + space);
            }
        }
        return p;
    }

    /** {@return the number of steps, one or more} */
    public int steps() {
        return norm.length;
    }

    /** {@return the largest effective rate, in radians} */
    public double peak() {
        return Arrays.stream(effective).max().getAsDouble();
    }

    /** {@return the first step with the largest effective rate, counted from zero} */
    public int peakStep() {
        double peak = peak();
        return IntStream.range(0, effective.length)
                .filter(t -> effective[t] == peak)
                .findFirst()
                .getAsInt();
    }

    /**
     * The implied decay of each step, {@code (1 - keep) / a}: what shrinks the matrix, per radian. A run on a Hyperball has
     * the angles of a Base run with the same effective rates, whose norm says how far each of its steps would grow.
     *
     * @param matrix what was expected of the matrix
     * @param space where it lives
     * @return one number per step, zero where the rate is zero
     */
    public double[] impliedDecay(Expected matrix, Space space) {
        boolean ball = space instanceof Hyperball;
        Space base = ball ? new Base(1) : space; // with any decay above zero norms stay finite
        Prediction run = ball ? following(matrix, base, Arrays.copyOf(effective, steps() + 1)) : this;
        double[] implied = new double[steps()];
        for (int t = 0; t < implied.length; t++) {
            double keep = 1 - run.nominal[t] * base.decay();
            double kept = ball ? keep * run.norm[t] / run.norm[t + 1] : keep;
            implied[t] = effective[t] == 0 ? 0 : (1 - kept) / effective[t];
        }
        return implied;
    }

    /** {@return the last effective rate over the largest, from 0 to 1} */
    public double finalToPeak() {
        return Rates.finalToPeak(effective);
    }
}
