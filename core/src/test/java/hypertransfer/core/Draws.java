package hypertransfer.core;

import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;

/** A property, tried on ten thousand seeded draws. */
final class Draws {
    static final int COUNT = 10_000;
    static final long SEED = Long.parseLong(System.getProperty("ht.seed", "1"));

    static {
        System.out.println("draws: seed " + SEED + "; another with -Dtest.properties=\"-Dht.seed=N\"");
    }

    private Draws() {}

    /** Each draw has a generator of its own, so that a draw does not depend on what those before it consumed. */
    static void forAll(String property, Consumer<RandomGenerator> body) {
        forAll(property, COUNT, body);
    }

    static void forAll(String property, int count, Consumer<RandomGenerator> body) {
        for (int i = 0; i < count; i++) {
            try {
                body.accept(new SplittableRandom(31 * (31 * SEED + property.hashCode()) + i));
            } catch (AssertionError | RuntimeException e) {
                throw new AssertionError(
                        property + ": seed " + SEED + ", draw " + i + " of " + count + ": " + e.getMessage()
                                + "\nreplay with -Dtest.properties=\"-Dht.seed=" + SEED + "\"",
                        e);
            }
        }
    }

    /** Ten to a uniform power. */
    static double power(RandomGenerator random, double from, double to) {
        return StrictMath.pow(10, random.nextDouble(from, to)); // the same in every JVM, compiled or not
    }

    /** A norm: ordinary half of the time, from 1e-30 to 1e30 the other half, ends included. */
    static double norm(RandomGenerator random) {
        return switch (random.nextInt(8)) {
            case 0, 1, 2, 3 -> power(random, -1, 1);
            case 4, 5 -> power(random, -30, 30);
            case 6 -> 1e-30;
            default -> 1e30;
        };
    }

    static double[] vector(RandomGenerator random, int size, double norm) {
        double[] x = new double[size];
        for (int i = 0; i < size; i++) {
            x[i] = random.nextGaussian();
        }
        return Explicit.scaled(norm / Explicit.norm(x), x);
    }
}
