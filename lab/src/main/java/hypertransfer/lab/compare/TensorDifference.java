package hypertransfer.lab.compare;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.Checkpoint;
import java.nio.file.Path;
import java.util.List;

/**
 * One tensor in the checkpoints of two runs at one step. Carriers have norms of their own, so the second is scaled to the
 * first's norm before they are compared.
 *
 * @param normA of the first run's
 * @param normB of the second run's
 * @param bits whether both have the same bits, without any scaling
 * @param largest the largest difference after scaling, relative to the root mean square of the first
 * @param angle between the two, in radians
 */
public record TensorDifference(String tensor, double normA, double normB, boolean bits, double largest, double angle) {
    public static long commonStep(Run a, Run b) {
        return commonSteps(a, b).stream()
                .findFirst()
                .orElseThrow(() -> new Refusal(a.directory() + " has checkpoints of steps " + steps(a) + ", "
                        + b.directory() + " of " + steps(b)
                        + ", and none in common; train with the same checkpoint.every and a larger checkpoint.keep"));
    }

    /** The steps of which both have a checkpoint, the newest first. */
    static List<Long> commonSteps(Run a, Run b) {
        List<Long> others = steps(b);
        return steps(a).stream().filter(others::contains).toList();
    }

    private static List<Long> steps(Run run) {
        return run.checkpoints().stream().map(Run::step).toList();
    }

    public static List<TensorDifference> all(Run a, Run b, long step) {
        try (SafeTensors mine = tensors(a, step);
                SafeTensors theirs = tensors(b, step)) {
            return mine.names().stream()
                    .filter(theirs.names()::contains)
                    .map(name -> of(name, mine.values(name), theirs.values(name)))
                    .toList();
        }
    }

    private static SafeTensors tensors(Run run, long step) {
        Path numbers = run.checkpoints().stream()
                .filter(file -> Run.step(file) == step)
                .findFirst()
                .orElseThrow(() -> new Refusal(run.directory() + " has no checkpoint of step " + step
                        + "; it has those of " + steps(run) + " (checkpoint.every and checkpoint.keep say which)"));
        return SafeTensors.read(Checkpoint.tensorsOf(numbers));
    }

    public static TensorDifference of(String name, double[] a, double[] b) {
        if (a.length != b.length) {
            throw new Refusal(name + " has " + a.length + " numbers in one run and " + b.length
                    + " in the other; the networks differ");
        }
        double aa = 0, bb = 0;
        boolean bits = true;
        for (int i = 0; i < a.length; i++) {
            aa += a[i] * a[i];
            bb += b[i] * b[i];
            bits &= Double.doubleToRawLongBits(a[i]) == Double.doubleToRawLongBits(b[i]);
        }
        double normA = Math.sqrt(aa), normB = Math.sqrt(bb), scale = normB == 0 ? 1 : normA / normB;
        double largest = 0, apart = 0, along = 0; // along b is also the error of the scale, which is no angle
        for (int i = 0; i < a.length; i++) {
            double d = bits ? 0 : a[i] - scale * b[i];
            largest = Math.max(largest, Math.abs(d));
            apart += d * d;
            along += d * b[i];
        }
        double rms = normA / Math.sqrt(a.length), share = bb == 0 ? 0 : along / bb;
        double across = Math.sqrt(Math.max(0, apart - share * along));
        double angle = normA == 0 ? 0 : Math.atan2(across, normB * (scale + share));
        return new TensorDifference(name, normA, normB, bits, rms == 0 ? largest : largest / rms, angle);
    }
}
