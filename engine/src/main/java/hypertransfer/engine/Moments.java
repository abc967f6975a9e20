package hypertransfer.engine;

/**
 * How Adam averages gradients at one step.
 *
 * @param beta1 what is kept of the mean of gradients
 * @param beta2 what is kept of the mean of their squares
 * @param epsilon added to the root that is divided by
 * @param t the step, from 1
 */
public record Moments(double beta1, double beta2, double epsilon, long t) {
    /** The weights of all gradients so far in their mean, which started at zero. */
    public double weight1() {
        return 1 - Math.pow(beta1, t);
    }

    /** The same of their squares. */
    public double weight2() {
        return 1 - Math.pow(beta2, t);
    }
}
