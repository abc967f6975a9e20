package hypertransfer.examples;

import hypertransfer.core.Mode;
import hypertransfer.core.Reading;
import hypertransfer.core.Schedule;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import java.util.Random;

/** A training loop of one's own: momentum on one matrix, which may live in any space and follow any other. */
public final class OwnLoop {
    public static void main(String[] args) {
        double[] base = train(Mode.BASE, 0.1, 300), ball = train(Mode.HYPERTRANSFER, 0.1, 300);
        System.out.printf("Base %.12f, followed on a Hyperball %.12f%n", base[299], ball[299]);
    }

    static double[] train(Mode mode, double rate, int steps) {
        double[] w = new Random(1).doubles(64, -1, 1).toArray(), m = new double[64], losses = new double[steps];
        Schedule schedule = Schedule.linear(rate, steps, 0.05, 0.1); // warm-up, and the final rate, as fractions
        Transfer transfer = mode.transfer(0.1); // weight decay
        State state = State.start("layer.weight", Math.sqrt(dot(w, w)));
        for (int t = 0; t < steps; t++) {
            double at = transfer.evaluationScale(state); // differs from 1 only in the + forms
            double scale = transfer.gradientScale(state);
            double r = at * Math.sqrt(dot(w, w)); // the norm of what the network sees, which is at * w
            losses[t] = 1 - at * w[0] / r;
            for (int i = 0; i < w.length; i++) { // your network's gradient, then your direction: here, momentum
                double g = at * w[0] / r * (at * w[i] / r) / r - (i == 0 ? 1 / r : 0);
                m[i] = t == 0 ? scale * g : 0.9 * m[i] + 0.1 * scale * g;
            }
            Reading reading = new Reading(Math.sqrt(dot(w, w)), Math.sqrt(dot(m, m)), dot(m, w));
            Step step = transfer.step(state, reading, schedule.rate(t));
            for (int i = 0; i < w.length; i++) {
                w[i] = step.keep() * w[i] - step.push() * m[i];
            }
            state = step.next(); // save it with your checkpoint
            // step.nominal() and step.effective() are the rates just applied: the carrier's own, and the angular one
        }
        return losses;
    }

    static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    private OwnLoop() {}
}
