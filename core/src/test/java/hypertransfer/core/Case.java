package hypertransfer.core;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/** One drawn situation: a transfer, the vectors, and a rate. */
record Case(Transfer transfer, State state, double[] w, double[] u, double e) {

    /** Ten thousand draws, a quarter of them for each of the four pairs of spaces; the gradient rule is drawn too. */
    static void forAll(String property, Consumer<Case> body) {
        GradientRule[] rules = GradientRule.values();
        for (int pair = 0; pair < 4; pair++) {
            boolean baseTarget = pair < 2;
            boolean baseCarrier = pair % 2 == 0;
            String name = property + ", " + (baseTarget ? "Base" : "Hyperball") + " to "
                    + (baseCarrier ? "Base" : "Hyperball");
            Draws.forAll(
                    name,
                    Draws.COUNT / 4,
                    random -> body.accept(draw(random, baseTarget, baseCarrier, rules[random.nextInt(rules.length)])));
        }
    }

    /**
     * What matters is the angular step a and how much both decays take, so these are drawn, and the rate and the decays
     * that bring them about at the drawn norms follow.
     */
    static Case draw(RandomGenerator random, boolean baseTarget, boolean baseCarrier, GradientRule rule) {
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
        double taken = fraction(random);
        double e = baseTarget ? a * (1 - taken) * rT / u : a;
        Space target = baseTarget ? new Base(taken / e) : new Hyperball();
        double carrierTaken = fraction(random);
        Space carrier = baseCarrier ? new Base(carrierTaken / (1 - carrierTaken) / (a / u * rC)) : new Hyperball();
        Transfer transfer = new Transfer(target, carrier, rule);
        // The plain Base optimizer is its own target, so it has no other norm.
        double targetNorm = transfer.isPlain() && baseTarget ? rC : rT;
        // Float tensors end a little off the sphere they were projected to.
        double radius = random.nextBoolean() ? rC : rC * (1 + 1e-7 * random.nextGaussian());
        State state = new State("w", 3, radius, rC, targetNorm);
        return new Case(transfer, state, w, direction, e);
    }

    /** How much of the matrix a decay takes: nothing, some, or nearly all. */
    private static double fraction(RandomGenerator random) {
        return switch (random.nextInt(4)) {
            case 0 -> 0;
            case 1 -> 1 - Draws.power(random, -12, -1);
            default -> Draws.power(random, -8, -0.1);
        };
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
     * many times larger in the sum's direction, in any way of computing it.
     */
    double condition(double a) {
        double p = a / Explicit.norm(u);
        double[] ahead = Explicit.sum(1 / Explicit.norm(w), w, -p, u);
        return (1 + a) / Explicit.norm(ahead);
    }
}
