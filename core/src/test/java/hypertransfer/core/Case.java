package hypertransfer.core;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Controlled;
import hypertransfer.core.Space.Hyperball;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/** One drawn situation: a transfer, the vectors, and a rate. */
record Case(Transfer transfer, State state, double[] w, double[] u, double e) {

    /** Which space is drawn. */
    enum Kind {
        BASE,
        HYPERBALL,
        CONTROLLED;

        @Override
        public String toString() {
            return name().charAt(0) + name().substring(1).toLowerCase(Locale.ROOT);
        }
    }

    /** Two and a half thousand draws for each of the nine pairs of spaces; the gradient rule is drawn too. */
    static void forAll(String property, Consumer<Case> body) {
        GradientRule[] rules = GradientRule.values();
        for (Kind target : Kind.values()) {
            for (Kind carrier : Kind.values()) {
                Draws.forAll(
                        property + ", " + target + " to " + carrier,
                        Draws.COUNT / 4,
                        random -> body.accept(draw(random, target, carrier, rules[random.nextInt(rules.length)])));
            }
        }
    }

    /**
     * What matters is the angular step a and how much both decays take, so these are drawn, and the rate and the decays
     * that bring them about at the drawn norms follow.
     */
    static Case draw(RandomGenerator random, Kind targets, Kind carriers, GradientRule rule) {
        double rC = Draws.norm(random);
        double rT = Draws.norm(random);
        double u = Draws.norm(random);
        int size = random.nextInt(2, 9);
        double[] w = Draws.vector(random, size, rC);
        double a = Draws.power(random, -6, 1);
        double[] direction = Draws.vector(random, size, u);
        switch (random.nextInt(4)) {
            case 0 -> { // parallel, ahead or back; at a = 1 the step lands on the origin, where nothing is defined
                a = Math.abs(a - 1) < 0.1 ? 0.5 : a;
                direction = Explicit.scaled(random.nextBoolean() ? u / rC : -u / rC, w);
            }
            case 1 -> { // orthogonal
                double[] across = Explicit.sum(1, direction, -Explicit.dot(direction, w) / rC / rC, w);
                direction = Explicit.scaled(u / Explicit.norm(across), across);
            }
            default -> {}
        }
        double cos = Explicit.dot(direction, w) / u / rC;
        boolean same = targets == Kind.CONTROLLED && carriers == targets && random.nextInt(4) == 0;
        // Without a decay, which follows from what it takes.
        Controlled policy = policy(random, targets, u / (same ? rC : rT), cos);
        Controlled carrierPolicy = same ? policy : policy(random, carriers, u / rC, cos);
        rT = targets == Kind.CONTROLLED && policy.equals(carrierPolicy) ? rC : rT; // it may be its own target
        if (policy.pinned() || carrierPolicy.pinned()) { // the length along w is the norm, which must be above zero
            a = Math.min(a, cos > 0 ? 0.9 / cos : a);
        }
        double taken = fraction(random, targets);
        double lift = policy.lift(rT, u, cos), braked = policy.pull(rT, u, cos);
        double e = targets == Kind.HYPERBALL ? a : a * (1 - taken) * rT / (lift * u + a * rT * braked);
        Space target = space(targets, taken / e, policy);
        double carrierTaken = fraction(random, carriers);
        double carrierDecay = carrierTaken / (1 - carrierTaken) / (a / u * rC) * carrierPolicy.lift(rC, u, cos);
        Space carrier = same ? target : space(carriers, carrierDecay, carrierPolicy);
        Transfer transfer = new Transfer(target, carrier, rule);
        // The plain Base optimizer is its own target, so it has no other norm.
        double targetNorm = transfer.isPlain() && targets == Kind.BASE ? rC : rT;
        // Float tensors end a little off the sphere they were projected to.
        double radius = random.nextBoolean() ? rC : rC * (1 + 1e-7 * random.nextGaussian());
        State state = new State("w", 3, radius, rC, targetNorm);
        return new Case(transfer, state, w, direction, e);
    }

    private static Space space(Kind kind, double decay, Controlled policy) {
        return switch (kind) {
            case BASE -> new Base(decay);
            case HYPERBALL -> new Hyperball();
            case CONTROLLED -> new Controlled(decay, policy.floor(), policy.brake(), policy.pinned());
        };
    }

    /** A floor below or above |u|/|w|, any brake, pinned or not; each absent at times, and all in the other spaces. */
    private static Controlled policy(RandomGenerator random, Kind kind, double uw, double cos) {
        if (kind != Kind.CONTROLLED) {
            return new Controlled(0, 0, 1, false);
        }
        double floor = random.nextInt(3) == 0 ? 0 : uw * Draws.power(random, -1, 1);
        double brake = switch (random.nextInt(4)) {
            case 0 -> 1;
            case 1 -> cos < -0.999 ? 0.1 : 0; // nothing would be left of a direction that points outward
            default -> random.nextDouble(0.1, 1);
        };
        return new Controlled(0, floor, brake, random.nextBoolean());
    }

    /** How much of the matrix a decay takes: nothing, some, or nearly all. */
    private static double fraction(RandomGenerator random, Kind kind) {
        double drawn = switch (random.nextInt(4)) {
            case 0 -> 0;
            case 1 -> 1 - Draws.power(random, -12, -1);
            default -> Draws.power(random, -8, -0.1);
        };
        // The brake takes from the matrix too, and 1 - e pull keeps fewer digits the smaller it is.
        return kind == Kind.CONTROLLED ? Math.min(drawn, 0.5) : drawn;
    }

    Step step() {
        return transfer.step(state, Explicit.reading(w, u), e);
    }

    /** The target's own matrix. */
    double[] targetMatrix() {
        return Explicit.scaled(state.targetNorm() / Explicit.norm(w), w);
    }

    /** Where the target's own optimizer takes it. */
    double[] targetMoved() {
        return Explicit.step(transfer.target(), targetMatrix(), u, e);
    }

    /**
     * How much of w - step is lost when the two nearly cancel: (|w| + |step|) / |w - step|. A rounding in w or u shows so
     * many times larger in the sum's direction, in any way of computing it. A policy loses more: of what it leaves of u, of
     * {@code 1 - e pull}, and of the length along w that a pinned norm is.
     */
    double condition(double a) {
        double r = Explicit.norm(w), length = Explicit.norm(u), cos = Explicit.dot(u, w) / r / length;
        double left = Explicit.norm(Explicit.sum(1 / r, w, -a / length, u));
        double lost = 1;
        for (Space space : new Space[] {transfer.target(), transfer.carrier()}) {
            if (space instanceof Controlled c) {
                lost = Math.max(lost, cos < 0 ? 1 / (1 - (1 - c.brake() * c.brake()) * cos * cos) : 1);
                left = c.pinned() ? Math.min(left, 1 - a * cos) : left;
            }
        }
        if (transfer.target() instanceof Controlled c) {
            lost = Math.max(lost, 1 / (1 - e * c.pull(state.targetNorm(), length, cos)));
        }
        return (1 + a) / left * lost;
    }
}
