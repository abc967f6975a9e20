package hypertransfer.core;

/**
 * What one step does to a matrix, {@code w <- keep * w - push * u}, and what is worth logging of it.
 *
 * @param keep the factor of w, a number near 1
 * @param push the factor of u, zero or more
 * @param nominal the nominal rate the carrier applied: eta of a Base carrier, the angular step of a Hyperball
 * @param effective the effective rate: the angular step a, {@code push |u| / (keep |w|)}
 * @param angle the angle between the matrix before and after, in radians
 * @param norm the carrier's norm before the step, as read
 * @param targetNorm the target's norm before the step: its radius, or the proxy norm
 * @param next the state to continue with
 */
public record Step(
        double keep,
        double push,
        double nominal,
        double effective,
        double angle,
        double norm,
        double targetNorm,
        State next) {
    /** {@return the weight decay that this step's shrinking amounts to, {@code (1 - keep) / a}; zero where nothing moved} */
    public double impliedDecay() {
        return effective == 0 ? 0 : (1 - keep) / effective;
    }
}
