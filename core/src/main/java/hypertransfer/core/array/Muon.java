package hypertransfer.core.array;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Limits;
import hypertransfer.core.Reading;
import hypertransfer.core.Refusal;
import hypertransfer.core.ShapeFactor;
import java.util.Arrays;
import java.util.stream.IntStream;

/**
 * Muon's direction on plain arrays, for training loops of one's own: the mean {@code m <- momentum m + (1 - momentum) g},
 * which starts at the first gradient, orthogonalised by Newton-Schulz. With a Base space it is Muon, with a Hyperball MuonH:
 *
 * {@snippet file="hypertransfer/examples/OwnLoop.java" region="loop"}
 *
 * @param momentum from 0 to less than 1
 * @param nesterov whether {@code momentum m + (1 - momentum) g} is orthogonalised instead, as torch.optim.Muon does unless told
 *     otherwise
 * @param coefficients of Newton-Schulz
 * @param shape the factor for the matrix's shape
 */
public record Muon(double momentum, boolean nesterov, Coefficients coefficients, ShapeFactor shape) {
    /** Squares of numbers below it have lost digits. */
    private static final double SQUARED = 1e-140;

    /** Refuses a momentum out of range. */
    public Muon {
        Limits.fraction("momentum", momentum);
    }

    /** Muon as the paper has it: momentum 0.95, no look ahead, five steps, no factor. */
    public Muon() {
        this(0.95, false, Coefficients.JORDAN, ShapeFactor.NONE);
    }

    /**
     * The direction of one matrix, with its memory.
     *
     * @param rows of the matrix
     * @param cols of the matrix
     * @param mean its mean of gradients, row by row, brought up to date at every step: save it with your checkpoint
     * @return what a {@link Weights} moves against
     */
    public Weights.Direction on(int rows, int cols, double[] mean) {
        sized(mean.length, rows, cols);
        return (gradient, step) -> {
            sized(gradient.length, rows, cols);
            double kept = step == 0 ? 0 : momentum;
            for (int i = 0; i < mean.length; i++) {
                mean[i] = kept * mean[i] + (1 - kept) * gradient[i];
            }
            double[] ahead = !nesterov
                    ? mean
                    : IntStream.range(0, mean.length)
                            .mapToDouble(i -> momentum * mean[i] + (1 - momentum) * gradient[i])
                            .toArray();
            return orthogonalized(ahead, rows, cols);
        };
    }

    /**
     * The direction of one matrix that starts without memory.
     *
     * @param rows of the matrix
     * @param cols of the matrix
     * @return what a {@link Weights} moves against
     */
    public Weights.Direction on(int rows, int cols) {
        int size = Math.clamp((long) rows * cols, 0, Integer.MAX_VALUE);
        sized(size, rows, cols);
        return on(rows, cols, new double[size]);
    }

    /**
     * Newton-Schulz: every singular value of m goes near 1; then the factor for the shape. On all processors, with the same bits
     * on any number of them.
     *
     * @param m the matrix, row by row; it is not changed
     * @param rows of the matrix
     * @param cols of the matrix
     * @return a new matrix; zeros where m is zero
     */
    public double[] orthogonalized(double[] m, int rows, int cols) {
        sized(m.length, rows, cols);
        double norm = Reading.of(m, m).w();
        if (norm < SQUARED || norm == Double.POSITIVE_INFINITY) { // by its squares, not by its numbers
            double largest = Arrays.stream(m).map(Math::abs).max().orElseThrow();
            return largest == 0
                    ? new double[m.length]
                    : orthogonalized(
                            Arrays.stream(m).map(value -> value / largest).toArray(), rows, cols);
        }
        Rows given = Rows.of(m, rows, cols),
                x = rows > cols ? given.transposed() : given; // the side with smaller products
        x = x.plus(1 / norm, x, 0);
        for (Coefficients.Step step : coefficients.steps(0)) {
            Rows a = x.symmetric(x.transposed());
            Rows b = a.plus(step.b(), a.symmetric(a), step.c());
            x = x.plus(step.a(), b.times(x), 1);
        }
        x = x.plus(shape.factor(rows, cols), x, 0);
        return (rows > cols ? x.transposed() : x).flat();
    }

    private static void sized(int length, int rows, int cols) {
        if (rows < 1 || cols < 1 || length != (long) rows * cols) {
            throw new Refusal("an array of " + length + " numbers is not a matrix of " + rows + " x " + cols);
        }
    }
}
