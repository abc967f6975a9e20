package hypertransfer.core;

/**
 * The three numbers measured on the tensors at every step, summed in double precision.
 *
 * @param w the carrier's norm |w|
 * @param u the direction's norm |u|
 * @param uw the inner product of u and w
 */
public record Reading(double w, double u, double uw) {}
