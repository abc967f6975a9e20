package hypertransfer.train.config;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Outline;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Directions;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.optimizer.Rule;
import hypertransfer.train.optimizer.View;
import java.util.Map;

/**
 * The hidden matrices, or those of a group: how they are moved, and what they follow.
 *
 * @param rate the target's peak
 * @param decay the carrier's, or the target's where the carrier is a Hyperball
 * @param targetDecay of decay-transfer
 * @param policy what is done about the norm in a Base space beside decay
 * @param radius of a Hyperball, as a multiple of the matrix's norm at the start
 * @param zeroRadius the radius of a Hyperball whose matrix starts at zero, as a length; 0 for none
 * @param view the parts of a hidden matrix that count as matrices
 * @param recorded a file of rates that replace the schedule, or null
 * @param proxyGrowth the last proxy norm over the radius, on a line; null where the norm follows the paper's recursion
 * @param proxyRate the proxy norm's own rate beside the matrix's, where it is trained; 0 where it is not
 * @param groups settings of some of them, by name pattern; see {@link Groups}
 */
public record Matrices(
        Directions direction,
        @JsonUnwrapped Directions.Settings settings,
        Mode mode,
        Gradient gradient,
        double rate,
        double decay,
        double targetDecay,
        Policy policy,
        double radius,
        Init init,
        double zeroRadius,
        View view,
        @JsonUnwrapped Curve curve,
        String recorded,
        Double proxyGrowth,
        double proxyRate,
        @JsonUnwrapped Representation weights,
        Map<String, Map<String, Object>> groups) {
    public enum Init {
        NORMAL,
        ZERO
    }

    /** Where the network is evaluated: so that bits agree, as the mode says, so that it is exact, or by a rule. */
    public enum Gradient {
        /** At the radius where a norm follows the matrix, which carrier and target then share; elsewhere as the mode says. */
        EXACT,
        MODE,
        /** By {@link Matrices#exact}. */
        AUTO,
        AS_IS,
        RESCALED,
        REPRESENTATIVE,
        AT_RADIUS
    }

    /** What moves them: the direction with its settings. */
    public Direction update() {
        return direction.make(settings);
    }

    /** What they follow, with the gradient rule that was asked for. */
    public Transfer transfer() {
        Transfer named = mode.transfer(decay);
        Transfer t = policy.in(mode == Mode.DECAY_TRANSFER ? named.following(new Space.Base(targetDecay)) : named);
        return switch (gradient) {
            case EXACT, MODE, AUTO -> t;
            default -> new Transfer(t.target(), t.carrier(), GradientRule.valueOf(gradient.name()));
        };
    }

    /**
     * The gradient rule on a network. The fair rate is one for the gradient that the carrier has where it is, and a matrix
     * that is zero cannot be scaled.
     *
     * @param invariant whether the loss does not depend on the scale of the matrix, or of its parts
     * @param exactMasters whether masters are in double precision
     */
    GradientRule gradientRule(boolean invariant, boolean exactMasters) {
        boolean usable = invariant && scalable();
        if (gradient == Gradient.AUTO) {
            return exact(usable, exactMasters);
        }
        boolean atRadius = gradient == Gradient.EXACT && usable && mode != Mode.FAIR;
        return atRadius ? GradientRule.AT_RADIUS : transfer().gradient();
    }

    /** The rule that is exact; with masters in double precision the one that also keeps a target's bits. */
    public GradientRule exact(boolean invariant, boolean exactMasters) {
        if (invariant && exactMasters) {
            return GradientRule.AT_RADIUS;
        }
        return transfer().isPlain()
                ? GradientRule.AS_IS
                : invariant ? GradientRule.RESCALED : GradientRule.REPRESENTATIVE;
    }

    /** For the optimizer. */
    public Rule rule(GradientRule gradient) {
        Transfer t = transfer();
        return new Rule(update(), new Transfer(t.target(), t.carrier(), gradient), radius, zeroRadius, view, proxyRate);
    }

    public Schedule.Shaped schedule(int steps) {
        return curve.from(rate, steps);
    }

    /** The proxy norm before a step over the radius, where it is prescribed. */
    public double proxyNorm(int step, int steps) {
        return 1 + (proxyGrowth - 1) * ((double) step / steps);
    }

    private boolean scalable() {
        return init != Init.ZERO || zeroRadius > 0;
    }

    /** Refuses at-radius where a matrix has no norm at the start, or the loss depends on its scale, or on that of its parts. */
    void requireInvariance(Architecture network, Outline matrix) {
        boolean whole = network.invariant(matrix.kind()), parts = view.invariant(network, matrix.kind());
        if (gradient == Gradient.AT_RADIUS && !(parts && scalable())) {
            String problem = parts
                    ? matrix.name() + " starts at zero"
                    : "the loss depends on the scale of "
                            + (whole ? "the parts that matrices.view " + view.text() + " makes of " : "")
                            + matrix.name();
            throw new Refusal("matrices.gradient is at-radius, but " + problem + "; set matrices.gradient to auto");
        }
    }

    /** Refuses what cannot be trained; {@code key} names the group of keys. */
    Matrices check(String key) {
        Transfer transfer = Configuration.in(key, () -> {
            new Space.Base(targetDecay);
            curve.check(key, rate);
            return rule(transfer().gradient()).transfer();
        });
        boolean plainBase = transfer.isPlain() && !(transfer.carrier() instanceof Space.Hyperball);
        if (!scalable() && !plainBase) { // a zero matrix has no norm that could be a radius
            throw new Refusal(key + ".init is zero and " + key + ".mode is " + mode.label()
                    + ", which needs a radius that a zero matrix does not have: set " + key + ".zero_radius, " + key
                    + ".init=normal or " + key + ".mode=base");
        }
        if (rate * transfer.target().decay() >= 1) {
            throw new Refusal(key + ".rate " + rate + " times the target's weight decay "
                    + transfer.target().decay() + " is 1 or more, which would erase the matrices; lower either");
        }
        boolean proxied = !(transfer.target() instanceof Space.Hyperball) && !transfer.isPlain();
        if (proxyGrowth != null && (!proxied || !(proxyGrowth > 0 && proxyGrowth < Double.POSITIVE_INFINITY))) {
            throw new Refusal("matrices.proxy_growth " + proxyGrowth
                    + " must be a finite number above zero, and needs a mode with a proxy norm: "
                    + "hypertransfer, hypertransfer-plus or decay-transfer, not " + mode.label());
        }
        if (proxyRate != 0
                && (!proxied || proxyGrowth != null || !(proxyRate > 0 && proxyRate < Double.POSITIVE_INFINITY))) {
            throw new Refusal(key + ".proxy_rate " + proxyRate + " must be a number, zero or more, needs "
                    + "hypertransfer, hypertransfer-plus or decay-transfer, not " + mode.label()
                    + ", and excludes matrices.proxy_growth");
        }
        if (mode == Mode.HYPERBALL && !policy.none()) {
            throw new Refusal(
                    key + ".policy " + policy.text()
                            + " is for the norm in a Base space, and a Hyperball keeps its norm; leave it out, or take another mode");
        }
        return this;
    }
}
