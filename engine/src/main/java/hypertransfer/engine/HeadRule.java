package hypertransfer.engine;

/**
 * What is done to each head before attention.
 *
 * @param normQK whether queries and keys are normed
 * @param normV whether values are
 * @param rotary whether queries and keys are then turned by their position
 */
public record HeadRule(boolean normQK, boolean normV, boolean rotary) {
    /** Whether it leaves all heads as they are. */
    public boolean nothing() {
        return !normQK && !normV && !rotary;
    }
}
