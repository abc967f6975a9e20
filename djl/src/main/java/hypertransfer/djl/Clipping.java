package hypertransfer.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import hypertransfer.core.Clip;
import hypertransfer.core.Refusal;
import java.util.HashSet;
import java.util.Set;
import java.util.function.DoubleSupplier;

/** Limits the gradients of a step, after their scale. A step begins with the first parameter that comes again. */
final class Clipping {
    private final Clip clip;
    private final Set<String> seen = new HashSet<>();
    private Device device;
    private double norm = Double.NaN;
    private double kept = Double.NaN;
    private double before; // squares of a step's numbers, where each is limited
    private double after;

    Clipping(Clip clip) {
        this.clip = clip;
    }

    /**
     * Called before a parameter is updated.
     *
     * @param all the norm of all gradients that stand ready, each after its scale
     */
    synchronized void begin(String parameterId, Device on, DoubleSupplier all) {
        if (!clip.any()) {
            return;
        }
        device = device == null ? on : device;
        if (clip.norm() > 0 && !on.equals(device)) {
            throw new Refusal(
                    "gradients are clipped to the norm " + clip.norm() + " and the model is trained on " + device
                            + " and " + on + ", which DJL updates one after the other; train on one, or clip by value");
        }
        if (seen.add(parameterId + " " + on) && seen.size() > 1) {
            return;
        }
        seen.clear();
        seen.add(parameterId + " " + on);
        before = after = 0;
        if (clip.norm() > 0) {
            norm = all.getAsDouble();
            kept = clip.factor(norm);
        }
    }

    /** The gradient times its scale, clipped: the same array, or a new one. */
    NDArray of(NDArray gradient, double scale) {
        double factor = clip.norm() > 0 ? scale * kept : scale;
        NDArray g = factor == 1 ? gradient : gradient.mul(factor);
        if (clip.value() == 0) {
            return g;
        }
        NDArray limited = g.clip(-clip.value(), clip.value());
        double all = Measure.norm(g), left = Measure.norm(limited);
        synchronized (this) {
            before += all * all;
            after += left * left;
        }
        return limited;
    }

    synchronized Clip.Outcome outcome() {
        return clip.value() == 0
                ? new Clip.Outcome(norm, kept)
                : new Clip.Outcome(Math.sqrt(before), before == 0 ? 1 : Math.sqrt(after / before));
    }
}
