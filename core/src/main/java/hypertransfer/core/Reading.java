package hypertransfer.core;

/**
 * The three numbers measured on the tensors at every step, before the move. Sum them in double precision, whatever the
 * tensors hold: the next step's norms are predicted from them.
 *
 * @param w the carrier's norm |w|, the square root of the sum of squares
 * @param u the direction's norm |u|, likewise
 * @param uw the inner product of u and w, the sum of the products of their entries
 */
public record Reading(double w, double u, double uw) {}
