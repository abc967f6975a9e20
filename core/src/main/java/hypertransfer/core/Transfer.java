package hypertransfer.core;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.Locale;

/**
 * A matrix that lives in a carrier space and follows the dynamics of a target space: every algorithm of the paper, and
 * the pairs it does not have.
 *
 * <p>Letters: rC is the carrier's norm |w|, rT the target's, e the target's scheduled rate, l its weight decay, a the
 * angular step. The target's own matrix is never stored: it is {@code (rT/rC) w}. Equations are numbered as the paper's are:
 * 2 to 4 for algorithm 1, 5 and 6 for its + form, 7 to 9 for the inverse ones, 18 and 19 for the fair rate, 21 to 27 for the
 * transfer between weight decays.
 *
 * <p>A step has an order: evaluation scale, gradient, gradient scale, direction, reading, step, move. On plain arrays {@link
 * hypertransfer.core.array.Weights} keeps it, and refuses another.
 *
 * @param target the space whose dynamics the matrix follows
 * @param carrier the space the matrix lives in
 * @param gradient which gradient the direction is made of
 */
public record Transfer(Space target, Space carrier, GradientRule gradient) {
    /** How far the proxy norm of a matrix may be from its own, by roundings. */
    private static final double ONE_NORM = 1e-12;

    /**
     * The ordinary optimizer of one space.
     *
     * @param space both carrier and target
     * @return the transfer of a space to itself, with the gradient as it is
     */
    public static Transfer plain(Space space) {
        return new Transfer(space, space, GradientRule.AS_IS);
    }

    /**
     * The same carrier and gradient rule with another target.
     *
     * @param followed the space whose dynamics to follow instead
     * @return the changed transfer
     */
    public Transfer following(Space followed) {
        return new Transfer(followed, carrier, gradient);
    }

    /**
     * Whether this is the ordinary optimizer of one space: target = carrier, the gradient taken as it is, or at the radius of
     * a scale-invariant matrix, where it is the same.
     *
     * @return whether nothing is followed
     */
    public boolean isPlain() {
        boolean own = gradient == GradientRule.AS_IS || gradient == GradientRule.AT_RADIUS;
        return own && target.equals(carrier);
    }

    /**
     * Where the network is to be evaluated for the next step (equations 5 and 8).
     *
     * @param s the matrix's state before the step
     * @return the multiple of w to evaluate at; 1 unless the rule is {@link GradientRule#evaluatesElsewhere}
     * @throws Refusal if the rule needs norms above zero and one is not
     */
    public double evaluationScale(State s) {
        return switch (gradient) {
            case AS_IS, RESCALED -> 1;
            case REPRESENTATIVE -> ratio(s, s.targetNorm(), s.norm());
            case AT_RADIUS -> ratio(s, s.R(), s.norm());
        };
    }

    /**
     * What the gradient is multiplied by before the direction sees it, momentum and moments included (equations 2 and 25).
     *
     * @param s the matrix's state before the step
     * @return the factor; 1 unless the rule rescales
     * @throws Refusal if the rule needs norms above zero and one is not
     */
    public double gradientScale(State s) {
        return switch (gradient) {
            case AS_IS, REPRESENTATIVE -> 1;
            case RESCALED -> ratio(s, s.norm(), s.targetNorm());
            case AT_RADIUS -> ratio(s, s.R(), s.targetNorm());
        };
    }

    /**
     * Refuses a rate that {@link #step(State, Reading, double)} would refuse, before a direction has changed its memory.
     *
     * @param s the matrix's state before the step
     * @param e the target's scheduled rate at this step
     * @throws Refusal if the rate is out of range, or its product with the target's decay is 1 or more
     */
    public void check(State s, double e) {
        rate(s, e, target.decay());
    }

    /**
     * One step: the target's angular step (equations 3 and 18), taken by the carrier, and the target's norm (equation 4). Move
     * the matrix by {@code w <- keep w - push u}.
     *
     * @param s the matrix's state: {@link State#start} before the first step, then {@link Step#next} of the one before
     * @param reading |w| of the carrier before the move, |u| and their inner product, where u is the direction made of
     *     gradients that were taken at {@link #evaluationScale} times w and multiplied by {@link #gradientScale}
     * @param e the target's scheduled rate at this step, finite, zero or more: the nominal rate eta of a Base target, an
     *     angular step of a Hyperball
     * @return the two factors, what is worth logging, and the next state
     * @throws Diverged if the reading is not finite, the step lands on the origin of a Hyperball, or the next norm
     *     exceeds a double
     * @throws Refusal if the rate is out of range, its product with the target's decay is 1 or more, or the matrix is
     *     zero and a space other than the plain Base optimizer's needs its direction
     */
    public Step step(State s, Reading reading, double e) {
        return step(s, reading, e, target.decay());
    }

    /**
     * The same with a weight decay that is this step's own, for the plain Base optimizer: a recorded rate and decay of each
     * step let it take the very steps of a Hyperball.
     *
     * @param s as above
     * @param reading as above
     * @param e as above
     * @param l the weight decay at this step, finite; below zero it makes the matrix longer
     * @return as above
     * @throws Diverged as above
     * @throws Refusal as above, and if the decay is not the target's own and this is not the plain Base optimizer
     */
    public Step step(State s, Reading reading, double e, double l) {
        check(s, reading, e, l);
        double rC = reading.w();
        double u = reading.u();
        // Under one rule a carrier may also follow its own space at another norm.
        boolean oneMatrix = gradient == GradientRule.AS_IS || Math.abs(rC - s.targetNorm()) <= ONE_NORM * rC;
        boolean ball = target instanceof Hyperball;
        boolean plainBase = isPlain() && !ball && oneMatrix;
        if (rC == 0 && plainBase) { // a zero matrix has no direction: no angle is defined, but the plain optimizer is
            double moved = e * u;
            double infinite = moved == 0 ? 0 : Double.POSITIVE_INFINITY;
            return new Step(1 - e * l, e, e, infinite, 0, 0, 0, next(s, moved, moved));
        }
        if (rC == 0 && s.unmoved()) {
            return first(s, u, e);
        }
        // At the radius the proxy norm is taken even so: a carrier that follows this matrix has no other.
        double rT = plainBase && gradient == GradientRule.AS_IS ? rC : s.targetNorm();
        positive(s, rC, rT);

        double cos = u == 0 ? 0 : Math.clamp(reading.uw() / u / rC, -1, 1);
        // A decay that is this step's own stands for that of the plain Base optimizer.
        double pull = l == target.decay() ? target.pull(rT, u, cos) : l;
        double lifted = lawful(s, target, pull, target.lift(rT, u, cos));
        double kept = 1 - e * pull;
        if (!(kept > 0)) {
            throw refuse(
                    s,
                    "learning rate " + e + " times what " + target + " takes of the matrix, " + pull
                            + ", is 1 or more; lower the rate");
        }
        // The angular step for each unit of u, so that a = p |u| and |u| = 0 needs no case of its own.
        double p = ball ? (u == 0 ? 0 : e / u) : e * lifted / (kept * rT);
        double a = p * u;
        double along = 1 - a * cos;
        double across = a * Math.sqrt((1 - cos) * (1 + cos));
        double stretch = Math.hypot(along, across); // |w/rC - p u|, the length that a Hyperball projects away
        double angle = StrictMath.atan2(across, along);

        double nextTarget = ball ? rT : after(s, target, kept * rT * stretch, kept * rT * along);
        if (carrier instanceof Hyperball) {
            if (!(stretch > 0)) {
                throw diverged(
                        s,
                        "the step of angle " + a + " lands on the origin, and a Hyperball has no direction"
                                + " there; lower the learning rate");
            }
            double keep = s.R() / (rC * stretch);
            return new Step(keep, keep * p * rC, a, a, angle, rC, rT, next(s, s.R(), nextTarget));
        }
        double pulled = carrier.pull(rC, u, cos), lift = lawful(s, carrier, pulled, carrier.lift(rC, u, cos));
        double keep = plainBase ? kept : 1 / (1 + p * pulled * rC / lift);
        double nominal = plainBase ? e : p * rC * keep / lift; // equations 7, 9, 19 and 27
        double free = keep * rC * stretch, norm = after(s, carrier, free, keep * rC * along);
        double scale = norm == free ? 1 : norm / free;
        return new Step(scale * keep, scale * lift * nominal, nominal, a, angle, rC, rT, next(s, norm, nextTarget));
    }

    /** From zero: every direction is as far away, so the first that is there is taken, and no angle is defined. */
    private Step first(State s, double u, double e) {
        if (e == 0 || u == 0) {
            return new Step(1, 0, 0, 0, 0, 0, s.targetNorm(), next(s, 0, s.targetNorm()));
        }
        double rT = target instanceof Hyperball ? s.targetNorm() : e * u;
        double norm = carrier instanceof Hyperball ? s.R() : rT;
        double push = norm / u;
        return new Step(1, push, push, Double.POSITIVE_INFINITY, 0, 0, s.targetNorm(), next(s, norm, rT));
    }

    /** Holds a space of one's own to what {@link Space} says, and returns its lift. */
    private static double lawful(State s, Space space, double pull, double lift) {
        if (!(Double.isFinite(pull) && lift > 0 && lift < Double.POSITIVE_INFINITY)) {
            throw refuse(
                    s,
                    space + " answers pull " + pull + " and lift " + lift
                            + "; a pull must be finite, and a lift finite and above zero");
        }
        return lift;
    }

    /** The norm that a space ends the step with; one that it cannot go on from is told here, where it happens. */
    private static double after(State s, Space space, double free, double along) {
        double norm = space.after(free, along);
        if (free > 0 && free < Double.POSITIVE_INFINITY && !(norm > 0 && norm < Double.POSITIVE_INFINITY)) {
            String why = space + " ends the step with the norm " + norm + " after a length of " + free + ", of which "
                    + along + " is along the matrix; a norm must be finite and above zero";
            throw along > 0 ? refuse(s, why) : diverged(s, why + ": lower the learning rate");
        }
        return norm;
    }

    private double ratio(State s, double above, double below) {
        if (s.unmoved()) { // carrier and target are one matrix
            return 1;
        }
        positive(s, s.norm(), s.targetNorm());
        return above / below;
    }

    private static State next(State s, double norm, double targetNorm) {
        if (!(State.finite(norm) && State.finite(targetNorm))) {
            throw diverged(
                    s,
                    "the step would take its norm to " + norm + " and its target's to " + targetNorm
                            + ": the training has diverged; lower the learning rate and continue from the last checkpoint");
        }
        return new State(s.matrix(), s.step() + 1, s.R(), norm, targetNorm);
    }

    private void check(State s, Reading r, double e, double l) {
        if (l != target.decay() && !(isPlain() && target instanceof Base && Double.isFinite(l))) {
            throw refuse(
                    s,
                    "its weight decay at this step is " + l + " and its target is " + target + " in " + carrier
                            + "; only the plain Base optimizer takes another decay at every step, a finite number");
        }
        rate(s, e, l);
        if (!(Double.isFinite(r.w()) && Double.isFinite(r.u()) && Double.isFinite(r.uw()))) {
            throw diverged(
                    s,
                    "|w| is " + r.w() + ", |u| is " + r.u() + ", <u,w> is " + r.uw()
                            + ": the training has diverged; lower the learning rate and continue from the last checkpoint");
        }
    }

    private static void rate(State s, double e, double l) {
        if (!(e >= 0 && e < Double.POSITIVE_INFINITY)) {
            throw refuse(s, "learning rate is " + e + "; it must be a finite number, zero or more");
        }
        if (e * l >= 1) {
            throw refuse(
                    s,
                    "learning rate " + e + " times weight decay " + l
                            + " is 1 or more, which would erase the matrix; lower either of them");
        }
    }

    private void positive(State s, double rC, double rT) {
        if (!(rC > 0 && rT > 0)) {
            throw refuse(
                    s,
                    "its norm is " + rC + " and its target's " + rT + "; " + this
                            + " needs both above zero: initialise the matrix, start it from zero with a given radius,"
                            + " or train it with the plain Base optimizer");
        }
    }

    /** {@code Base(0.1) on Hyperball, rescaled}; only the space where nothing is followed. */
    @Override
    public String toString() {
        String spaces = isPlain() ? carrier.toString() : target + " on " + carrier;
        return gradient == GradientRule.AS_IS
                ? spaces
                : spaces + ", " + gradient.name().toLowerCase(Locale.ROOT);
    }

    private static Refusal refuse(State s, String why) {
        return new Refusal(at(s) + why);
    }

    private static Diverged diverged(State s, String why) {
        return new Diverged(s.matrix(), s.step(), at(s) + why);
    }

    private static String at(State s) {
        return s.matrix() + " at step " + s.step() + ": ";
    }
}
