package hypertransfer.example;

import hypertransfer.core.Mode;
import hypertransfer.core.Reading;
import hypertransfer.core.Schedule;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import java.util.Random;

/** A training loop of one's own, whose matrix may live in any space and follow any other. */
public final class OwnLoop {

    /** The loss of a matrix that is normed before it is used, so that its scale does not matter. */
    static double loss(double[] w, double[] goal) {
        return 1 - dot(w, goal) / norm(w);
    }

    static double[] gradient(double[] w, double[] goal) {
        double n = norm(w), along = dot(w, goal) / (n * n * n);
        double[] g = new double[w.length];
        for (int i = 0; i < w.length; i++) {
            g[i] = along * w[i] - goal[i] / n;
        }
        return g;
    }

    public static double[] train(Mode mode, double rate, int steps) {
        Random random = new Random(1);
        double[] w = random.doubles(64, -1, 1).toArray();
        double[] goal = random.doubles(64, -0.1, 0.1).toArray();
        double[] m = new double[w.length];
        double[] losses = new double[steps];
        Schedule schedule = Schedule.linear(rate, steps, 0.05, 0.1);

        // The library's part begins here: a transfer, and a state for each matrix.
        Transfer transfer = mode.transfer(0.1);
        State state = State.start("layer.weight", norm(w));
        for (int t = 0; t < steps; t++) {
            double at = transfer.evaluationScale(state); // differs from 1 only in the + forms
            double[] g = gradient(scaled(w, at), goal);
            losses[t] = loss(scaled(w, at), goal);
            double scale = transfer.gradientScale(state);
            double beta = t == 0 ? 0 : 0.9;
            for (int i = 0; i < w.length; i++) { // your own direction: here, momentum
                m[i] = beta * m[i] + (1 - beta) * scale * g[i];
            }
            Step step = transfer.step(state, new Reading(norm(w), norm(m), dot(m, w)), schedule.rate(t));
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

    static double norm(double[] a) {
        return Math.sqrt(dot(a, a));
    }

    static double[] scaled(double[] a, double factor) {
        double[] b = a.clone();
        for (int i = 0; i < b.length; i++) {
            b[i] *= factor;
        }
        return b;
    }

    public static void main(String[] args) {
        double[] base = train(Mode.BASE, 0.5, 300), ball = train(Mode.HYPERTRANSFER, 0.5, 300);
        System.out.printf("base %.12f, the same on a Hyperball %.12f%n", base[299], ball[299]);
    }

    private OwnLoop() {}
}
