package hypertransfer.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Controlled;
import hypertransfer.core.Space.Hyperball;

/** The optimizers with the vectors in hand: what the scalar algebra is held against. */
final class Explicit {
    private Explicit() {}

    /** One plain step of a space: Base as the paper writes it, a Hyperball of radius |w| by projection. */
    static double[] step(Space space, double[] w, double[] u, double eta) {
        return switch (space) {
            case Base(double lambda) -> sum(1 - eta * lambda, w, -eta, u);
            case Hyperball h -> {
                double radius = norm(w);
                double[] ahead = norm(u) == 0 ? w : sum(1, w, -eta * radius / norm(u), u);
                yield scaled(radius / norm(ahead), ahead);
            }
            case Controlled c -> { // as the published program has it, vector by vector
                double coefficient = dot(u, w) / dot(w, w);
                double[] radial = scaled(coefficient, w), tangential = sum(1, u, -1, radial);
                double[] braked = sum(1, tangential, coefficient < 0 ? c.brake() : 1, radial);
                double[] lifted = scaled(Math.max(1, c.floor() * norm(w) / norm(braked)), braked);
                double[] ahead = sum(1 - eta * c.decay(), w, -eta, lifted);
                double firstOrder = (1 - eta * c.decay()) * norm(w) - eta * dot(lifted, w) / norm(w);
                yield c.pinned() ? scaled(firstOrder / norm(ahead), ahead) : ahead;
            }
            case Halfway h -> {
                double[] ahead = sum(1 - eta * h.decay(), w, -eta, u);
                yield scaled(Math.sqrt(h.first() / norm(ahead)), ahead);
            }
            default -> throw new AssertionError("no vectors for " + space);
        };
    }

    /** A space of one's own: the norm ends halfway, on a scale of logarithms, between that of the start and the free one. */
    record Halfway(double decay, double first) implements Space {
        @Override
        public double after(double free, double along) {
            return Math.sqrt(first * free);
        }
    }

    /** What a step does to the carrier. */
    static double[] moved(Step step, double[] w, double[] u) {
        return sum(step.keep(), w, -step.push(), u);
    }

    static Reading reading(double[] w, double[] u) {
        return new Reading(norm(w), norm(u), dot(u, w));
    }

    static double dot(double[] x, double[] y) {
        double sum = 0;
        for (int i = 0; i < x.length; i++) {
            sum += x[i] * y[i];
        }
        return sum;
    }

    static double norm(double[] x) {
        return Math.sqrt(dot(x, x));
    }

    static double[] scaled(double a, double[] x) {
        return sum(a, x, 0, x);
    }

    static double[] sum(double a, double[] x, double b, double[] y) {
        double[] z = new double[x.length];
        for (int i = 0; i < z.length; i++) {
            z[i] = a * x[i] + b * y[i];
        }
        return z;
    }

    static void close(double actual, double expected, double relative) {
        assertThat(actual).isCloseTo(expected, within(relative * Math.abs(expected)));
    }

    /** The distance between two vectors' directions. */
    static double apart(double[] x, double[] y) {
        return norm(sum(1 / norm(x), x, -1 / norm(y), y));
    }

    /** The angle between two vectors, accurate for small ones too. */
    static double angle(double[] x, double[] y) {
        double[] p = scaled(1 / norm(x), x);
        double[] q = scaled(1 / norm(y), y);
        return 2 * Math.atan2(norm(sum(1, p, -1, q)), norm(sum(1, p, 1, q)));
    }
}
