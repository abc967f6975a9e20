package hypertransfer.prediction;

import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * All numbers of this package that were read off runs and random matrices instead of being derived. The project's notes
 * have the commands. Kinds of matrices have the names that they have in a block: q, k, v, o, gate, fc, proj.
 */
public final class Fitted {
    /** |u| at the first step at width 128, as a part of what it becomes. */
    private static final Map<String, Double> FIRST =
            Map.of("q", 0.80, "k", 0.80, "v", 0.66, "o", 0.66, "gate", 0.91, "fc", 0.91, "proj", 0.86);

    /** How long directions resemble each other, as a part of what the momentum says; 1 for the others. */
    private static final Map<String, Double> LASTING = Map.of("q", 0.85, "k", 0.85, "v", 1.20, "o", 1.05);

    /** Of several runs of one size and length the larger errors. */
    private static final List<Error> ERRORS = List.of(
            new Error("Muon", "M1", 128, 400, 0.079, 0.072),
            new Error("Muon", "M1", 128, 200, 0.137, 0.077),
            new Error("Muon", "M2", 128, 400, 0.051, 0.089),
            new Error("Muon", "M1", 256, 25, 0.238, 0.014),
            new Error("Muon", "M1", 256, 400, 0.103, 0.104),
            new Error("Muon", "M2", 256, 400, 0.095, 0.118),
            new Error("Muon", "M1", 384, 5723, 0.103, 0.064),
            new Error("Muon", "M2", 384, 5723, 0.233, 0.137),
            new Error("Muon", "M2", 384, 610, 0.233, 0.179),
            new Error("Muon", "M1", 768, 5723, 0.115, 0.138),
            new Error("Muon", "M1", 768, 610, 0.267, 0.249),
            new Error("Muon", "M1", 768, 70, 0.306, 0.219),
            new Error("Muon", "M2", 768, 5723, 0.165, 0.198),
            new Error("Muon", "M2", 768, 610, 0.344, 0.169),
            new Error("Muon", "M2", 768, 100, 0.243, 0.300),
            new Error("Muon", "M1", 1280, 300, 0.725, 0.248),
            new Error("AdamW", "M1", 128, 200, 0.270, 0.017),
            new Error("AdamW", "M1", 384, 5723, 0.248, 0.090),
            new Error("AdamW", "M1", 768, 610, 0.620, 0.253));

    private Fitted() {}

    /**
     * What the prediction reached on a run: relative errors, root mean square.
     *
     * @param optimizer Muon or AdamW
     * @param network M1 or M2
     * @param width of the network
     * @param steps of the run
     * @param effective of the effective rate, over steps and matrices
     * @param endNorm of the norm at the last step, over matrices
     */
    public record Error(String optimizer, String network, int width, int steps, double effective, double endNorm) {
        /**
         * How unlike another run this one is. Width counts double, because long runs are easier to predict.
         *
         * @param network M1 or M2
         * @param width of the network
         * @param steps of the run
         * @return 0 for the same; above 2 they have little in common
         */
        public double distance(String network, int width, int steps) {
            return 2 * Math.abs(Math.log((double) width / this.width))
                    + Math.abs(Math.log((double) steps / this.steps))
                    + (network.equals(this.network) ? 0 : 0.5);
        }
    }

    /**
     * What the prediction reached on the measured run that is most like this one.
     *
     * @param adam whether the direction is Adam's, else Muon's
     * @param network M1 or M2
     * @param width of the network
     * @param steps of the run
     * @return its errors
     */
    public static Error nearest(boolean adam, String network, int width, int steps) {
        return ERRORS.stream()
                .filter(e -> e.optimizer.equals("AdamW") == adam)
                .min(Comparator.comparingDouble(e -> e.distance(network, width, steps)))
                .orElseThrow();
    }

    /**
     * The root mean square of the singular values that five steps of Newton-Schulz (jordan) leave.
     *
     * @param rows of the matrix
     * @param cols of the matrix
     * @return 0.88 for squares, 0.93 for 1:4; at the end of runs 0.81 to 0.90 and 0.89 to 0.96
     */
    public static double singularValue(int rows, int cols) {
        return 0.95 - 0.07 * aspect(rows, cols);
    }

    /**
     * Momentum after orthogonalisation, which turns small singular directions quickly: the square matrix forgets most.
     * Weights and powers were read off Newton-Schulz (jordan) of random matrices, 64 to 512 wide, aspects 1, 1/2, 1/4,
     * whose cosine was x before: {@code (0.95 - 0.33 y) x + (0.02 + 0.30 y) x^3} within 0.03, y the aspect.
     *
     * @param beta of the momentum
     * @param rows of the matrix
     * @param cols of the matrix
     * @return two terms
     */
    public static Memory memory(double beta, int rows, int cols) {
        double y = aspect(rows, cols);
        return new Memory(
                List.of(new Memory.Term(0.95 - 0.33 * y, beta), new Memory.Term(0.02 + 0.30 * y, beta * beta * beta)));
    }

    /**
     * Gradients of q and k oppose those before them, those of v repeat them: read off runs at widths 128 and 384.
     *
     * @param kind of the matrix
     * @param momentum beta of the momentum
     * @return the momentum of independent gradients whose directions resemble each other for as long
     */
    public static double lasting(String kind, double momentum) {
        double kept = LASTING.getOrDefault(kind, 1.0) * momentum;
        return kept / (1 - momentum + kept);
    }

    /**
     * The first steps of Muon. Wide networks begin with a lower rank and leave it later.
     *
     * @param kind of the matrix
     * @param width of the network
     * @param normed whether a norm follows the matrix; elsewhere (the MLP of M2) the rank does not depend on the width
     * @param momentum beta of the momentum
     * @return what is different early
     */
    public static Onset onset(String kind, int width, boolean normed, double momentum) {
        double scale = width / 128.0;
        double part = FIRST.getOrDefault(kind, 1.0) * (normed ? Math.pow(scale, -1.0 / 6) : 1);
        return new Onset(Math.min(1, part), 25 * Math.pow(scale, 1.4), Math.sqrt(momentum));
    }

    private static double aspect(int rows, int cols) {
        return (double) Math.min(rows, cols) / Math.max(rows, cols);
    }
}
