package hypertransfer.examples;

import hypertransfer.core.Mode;
import hypertransfer.core.Schedule;
import hypertransfer.core.array.Muon;
import hypertransfer.core.array.Weights;
import java.util.Random;

/** A training loop of one's own, on plain arrays: Muon, MuonH, and each as the other. */
public final class OwnLoop {
    private static final int ROWS = 8, COLS = 16;

    public static void main(String[] args) {
        double[] muon = train(Mode.BASE, 0.02, 300), ball = train(Mode.HYPERTRANSFER, 0.02, 300);
        System.out.printf("Muon %.12f, on a Hyperball %.12f%n", muon[299], ball[299]);
    }

    static double[] train(Mode mode, double rate, int steps) {
        double[] w = new Random(1).doubles(ROWS * COLS, -1, 1).toArray(), losses = new double[steps];
        // @start region="loop"
        Weights layer = new Weights("layer", w, mode.transfer(0.1), new Muon().on(ROWS, COLS)); // weight decay 0.1
        Schedule schedule = Schedule.linear(rate, steps, 0.05, 0.1); // warm-up, and the final rate, as fractions
        for (int t = 0; t < steps; t++) {
            double[] gradient = gradient(layer.evaluated(), losses, t); // your network's
            layer.step(gradient, schedule.rate(t)); // returns norms, effective rate, angle
        }
        // @end
        return losses;
    }

    /** Of a loss that only sees the matrix's direction: one minus its first entry's share of the norm. */
    static double[] gradient(double[] w, double[] losses, int t) {
        double norm = 0;
        for (double value : w) {
            norm += value * value;
        }
        norm = Math.sqrt(norm);
        losses[t] = 1 - w[0] / norm;
        double[] gradient = new double[w.length];
        for (int i = 0; i < w.length; i++) {
            gradient[i] = w[0] / norm * (w[i] / norm) / norm - (i == 0 ? 1 / norm : 0);
        }
        return gradient;
    }

    private OwnLoop() {}
}
