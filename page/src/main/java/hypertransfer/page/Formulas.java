package hypertransfer.page;

import hypertransfer.core.Decline;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.core.ShapeFactor;
import hypertransfer.core.Space;
import hypertransfer.prediction.Equilibrium;
import hypertransfer.prediction.Expected;
import hypertransfer.prediction.Fitted;
import hypertransfer.prediction.Prediction;
import hypertransfer.prediction.Translation;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.teavm.jso.JSExport;

/**
 * What the page of {@code ht page} calls: functions of core and prediction under names that JavaScript can use. TeaVM
 * compiles this class and all that it reaches, so no formula is written twice. Records pass through JavaScript as they
 * are; a {@link hypertransfer.core.Refusal} arrives there as an error with its sentence.
 */
public final class Formulas {
    private Formulas() {}

    /** A warm-up, then a shape such as {@code linear} or {@code trapezoid:0.2}. */
    @JSExport
    public static Shaped schedule(double peak, int steps, double warmup, double finalRatio, String shape) {
        return new Shaped(peak, steps, warmup, finalRatio, Decline.parse(shape));
    }

    @JSExport
    public static Space base(double decay) {
        return new Space.Base(decay);
    }

    @JSExport
    public static Space hyperball() {
        return new Space.Hyperball();
    }

    /** The factor of Muon's update: none, tall, spectral or rms; {@code jordan}: by Newton-Schulz with Muon's own coefficients. */
    @JSExport
    public static double factor(String name, boolean jordan, int rows, int cols) {
        double own = ShapeFactor.valueOf(name.toUpperCase(Locale.ROOT)).factor(rows, cols);
        return jordan ? own : own / Fitted.singularValue(rows, cols);
    }

    @JSExport
    public static Expected muon(String kind, int rows, int cols, double factor, double momentum) {
        return Expected.muon(rows, cols, factor, Fitted.lasting(kind, momentum));
    }

    @JSExport
    public static Expected adam(int rows, int cols, double beta1) {
        return Expected.adam(rows, cols, beta1);
    }

    /** The same matrix with the first steps of its kind. */
    @JSExport
    public static Expected early(Expected matrix, String kind, int width, boolean normed, double momentum) {
        return matrix.withOnset(Fitted.onset(kind, width, normed, momentum));
    }

    @JSExport
    public static Prediction predict(Expected matrix, Space space, Shaped schedule) {
        return Prediction.of(matrix, space, schedule);
    }

    /** The run whose nominal rates give these effective ones. */
    @JSExport
    public static Prediction follow(Expected matrix, Space space, double[] effective) {
        return Prediction.following(matrix, space, effective);
    }

    @JSExport
    public static double[] norm(Prediction run) {
        return run.norm();
    }

    @JSExport
    public static double[] nominal(Prediction run) {
        return run.nominal();
    }

    @JSExport
    public static double[] effective(Prediction run) {
        return run.effective();
    }

    @JSExport
    public static double[] impliedDecay(Prediction run, Expected matrix, Space space) {
        return run.impliedDecay(matrix, space);
    }

    /** The largest effective rate, its step, and the last over the largest. */
    @JSExport
    public static double[] summary(Prediction run) {
        return new double[] {run.peak(), run.peakStep(), run.finalToPeak()};
    }

    /** Norm and effective rate at rest, at a constant rate. */
    @JSExport
    public static double[] rest(Expected matrix, double rate, double decay) {
        Equilibrium rest = Equilibrium.of(matrix, rate, decay);
        return new double[] {rest.norm(), rest.effective()};
    }

    /** The steps until only this part of the distance to rest is left. */
    @JSExport
    public static double stepsToRest(double rate, double decay, double left) {
        return Equilibrium.steps(rate, decay, left);
    }

    /** A list for {@link #carry}, filled by {@link #add}. */
    @JSExport
    public static List<Translation.Matrix> matrices() {
        return new ArrayList<>();
    }

    @JSExport
    public static void add(List<Translation.Matrix> all, Expected from, Expected to, int count) {
        all.add(new Translation.Matrix(from, to, count));
    }

    /** The peak and the final ratio with which the other run has the tuned one's effective rates, and the error that stays. */
    @JSExport
    public static double[] carry(List<Translation.Matrix> all, Space from, Shaped tuned, Space to, Shaped like) {
        Translation.Pair pair = Translation.pair(all, from, tuned, to, like);
        return new double[] {pair.schedule().peak(), pair.schedule().finalRatio(), pair.error()};
    }

    /**
     * What the prediction reached on the measured run most like this one: relative errors of the effective rate and of the
     * last norm, that run's width and steps, and how unlike it is.
     */
    @JSExport
    public static double[] measured(boolean adam, String network, int width, int steps) {
        Fitted.Error e = Fitted.nearest(adam, network, width, steps);
        return new double[] {e.effective(), e.endNorm(), e.width(), e.steps(), e.distance(network, width, steps)};
    }
}
