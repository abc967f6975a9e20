package hypertransfer.djl;

import hypertransfer.core.Limits;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;

/**
 * How a parameter is trained. Any direction can be combined with any transfer.
 *
 * @param direction what the gradient becomes
 * @param transfer the space the parameter lives in, and the one whose dynamics it follows
 * @param rate the schedule of the target: a nominal rate where it is a Base space, an angular step where it is a Hyperball
 * @param zeroRadius the radius of a Hyperball whose parameter starts at zero; 0 to refuse such a parameter
 * @param view what counts as a matrix
 */
public record Rule(Direction direction, Transfer transfer, Rate rate, double zeroRadius, View view) {
    /** Refuses a radius that is no length. */
    public Rule {
        Limits.zeroOrMore("the radius from zero", zeroRadius);
    }

    /**
     * A rule for parameters that do not start at zero, unless the plain Base optimizer trains them.
     *
     * @param direction what the gradient becomes
     * @param transfer the space the parameter lives in, and the one whose dynamics it follows
     * @param rate the schedule of the target
     */
    public Rule(Direction direction, Transfer transfer, Rate rate) {
        this(direction, transfer, rate, 0, View.PLAIN);
    }

    /**
     * The same rule for parameters that may start at zero: their first direction takes them to this radius.
     *
     * @param radius of the Hyperball, above zero
     * @return the changed rule
     */
    public Rule fromZero(double radius) {
        return new Rule(direction, transfer, rate, radius, view);
    }

    /**
     * The same rule for the parts of parameters, e.g. {@code muonH(rate).each(View.rows(3))} for a fused qkv.
     *
     * @param view what counts as a matrix
     * @return the changed rule
     */
    public Rule each(View view) {
        return new Rule(direction, transfer, rate, zeroRadius, view);
    }

    /**
     * Muon: orthogonalised momentum with decoupled weight decay.
     *
     * @param rate the nominal rate
     * @param decay the weight decay lambda, zero or more; a step shrinks the matrix by rate times decay
     * @return the rule, for matrices only
     */
    public static Rule muon(Rate rate, double decay) {
        return new Rule(Direction.muon(), Mode.BASE.transfer(decay), rate);
    }

    /**
     * MuonH: orthogonalised momentum at fixed norm.
     *
     * @param rate the angular step
     * @return the rule, for matrices only
     */
    public static Rule muonH(Rate rate) {
        return new Rule(Direction.muon(), Mode.HYPERBALL.transfer(0), rate);
    }

    /**
     * AdamW: Adam with betas 0.9 and 0.95, epsilon 1e-10 and decoupled weight decay.
     *
     * @param rate the nominal rate
     * @param decay the weight decay lambda, zero or more; a step shrinks the parameter by rate times decay
     * @return the rule, for parameters of any shape
     */
    public static Rule adamW(Rate rate, double decay) {
        return new Rule(Direction.adam(), Mode.BASE.transfer(decay), rate);
    }

    /**
     * AdamH: Adam at fixed norm.
     *
     * @param rate the angular step
     * @return the rule, for parameters of any shape that do not start at zero
     */
    public static Rule adamH(Rate rate) {
        return new Rule(Direction.adam(), Mode.HYPERBALL.transfer(0), rate);
    }

    /**
     * The same direction and rate in another of the paper's modes, with the weight decay that the rule has, e.g. {@code muon(rate,
     * 0.1).in(Mode.HYPERTRANSFER)}. The rate is read as the mode's target reads it.
     *
     * @param mode the algorithm
     * @return the changed rule
     */
    public Rule in(Mode mode) {
        return in(mode, decay());
    }

    /**
     * The same with a weight decay, for a rule that has none, e.g. {@code muonH(rate).in(Mode.INVERSE_HYPERTRANSFER, 0.1)}; of
     * {@link Mode#DECAY_TRANSFER} the one to train with, while the rule's own stays the one that is followed.
     *
     * @param mode the algorithm
     * @param decay the weight decay of the Base space, whether it is carrier or target
     * @return the changed rule
     * @throws Refusal if the rule has another weight decay already, which would be dropped
     */
    public Rule in(Mode mode, double decay) {
        if (mode == Mode.DECAY_TRANSFER) {
            return new Rule(direction, mode.transfer(decay).following(transfer.target()), rate, zeroRadius, view);
        }
        if (decay() != 0 && decay() != decay) {
            throw new Refusal("the rule " + this + " has weight decay " + decay() + ", and in(" + mode + ", " + decay
                    + ") would drop it; write in(" + mode + "), or begin with weight decay 0");
        }
        return new Rule(direction, mode.transfer(decay), rate, zeroRadius, view);
    }

    private double decay() {
        return Math.max(transfer.target().decay(), transfer.carrier().decay());
    }

    /**
     * The same rule with another target, e.g. {@code muonH(rate).following(new Base(0.3))}: a fixed norm that follows Muon
     * with weight decay 0.3, with the gradient as it is.
     *
     * @param target the space whose dynamics to follow
     * @return the changed rule
     */
    public Rule following(Space target) {
        return new Rule(direction, transfer.following(target), rate, zeroRadius, view);
    }

    /** {@code muon(0.95), Base(0.1) on Hyperball, rescaled}: all of it except the rate. */
    @Override
    public String toString() {
        return text(signature(), transfer);
    }

    /** What a saved state must have been trained with. */
    String signature() {
        return direction.signature() + (view.plain() ? "" : " of " + view);
    }

    static String text(String direction, Transfer transfer) {
        return direction + ", " + transfer;
    }
}
