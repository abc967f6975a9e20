package hypertransfer.prediction;

import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;

/**
 * What can be said of a hidden matrix before its run, or of one like it.
 *
 * @param norm |w| at the start
 * @param direction |u| once the onset is over, taken as constant
 * @param memory how directions resemble those before them
 * @param onset what is different early in the run
 */
public record Expected(double norm, double direction, Memory memory, Onset onset) {
    /** The part of a normal distribution's standard deviation that is left when it is cut at two of them. */
    private static final double CUT = 0.8796256610342398;

    /** Refuses norms that are not above zero. */
    public Expected {
        Limits.aboveZero("the norm at the start", norm);
        Limits.aboveZero("the direction's norm", direction);
    }

    /**
     * A matrix whose first steps are like the others.
     *
     * @param norm |w| at the start
     * @param direction |u|
     * @param memory how directions resemble those before them
     */
    public Expected(double norm, double direction, Memory memory) {
        this(norm, direction, memory, Onset.NONE);
    }

    /**
     * Muon.
     *
     * @param rows of the matrix
     * @param cols of the matrix
     * @param factor the shape factor of the update, 1 if there is none
     * @param momentum beta of the momentum
     * @return a matrix as this project initialises it
     */
    public static Expected muon(int rows, int cols, double factor, double momentum) {
        shape(rows, cols);
        return new Expected(
                initial(rows),
                Fitted.singularValue(rows, cols) * factor * Math.sqrt(Math.min(rows, cols)),
                Fitted.memory(momentum, rows, cols));
    }

    /**
     * Adam: every element is a mean of gradients over their root mean square.
     *
     * @param rows of the matrix
     * @param cols of the matrix
     * @param beta1 of the mean
     * @return a matrix as this project initialises it
     */
    public static Expected adam(int rows, int cols, double beta1) {
        shape(rows, cols);
        double element = Math.sqrt((1 - beta1) / (1 + beta1));
        return new Expected(initial(rows), element * Math.sqrt((double) rows * cols), Memory.momentum(beta1));
    }

    /**
     * The norm of a matrix whose elements are normal with deviation {@code 1/sqrt(cols)}, cut at two deviations.
     *
     * @param rows of the matrix
     * @return its expected norm
     */
    public static double initial(int rows) {
        return CUT * Math.sqrt(rows);
    }

    /**
     * The same with another onset.
     *
     * @param onset what is different early in the run
     * @return the changed copy
     */
    public Expected withOnset(Onset onset) {
        return new Expected(norm, direction, memory, onset);
    }

    private static void shape(int rows, int cols) {
        if (rows < 1 || cols < 1) {
            throw new Refusal("a matrix of " + rows + " x " + cols + " is empty; give its rows and columns");
        }
    }
}
