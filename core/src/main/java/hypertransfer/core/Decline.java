package hypertransfer.core;

import java.util.Locale;

/** How a schedule falls from its peak after the warm-up. */
public sealed interface Decline {
    /**
     * The factor of the peak.
     *
     * @param x how much of the time after the warm-up has passed, from 0 to 1
     * @param end the factor at x = 1, from 0 to 1
     * @return the factor, from {@code end} to 1
     */
    default double factor(double x, double end) {
        return switch (this) {
            case Constant() -> 1;
            case Linear() -> 1 - (1 - end) * x;
            case Cosine() -> end + (1 - end) * (1 + StrictMath.cos(Math.PI * x)) / 2;
            case Trapezoid(double decay) -> 1 - (1 - end) * late(x, decay);
            case OneMinusSqrt(double decay) -> 1 - (1 - end) * Math.sqrt(late(x, decay));
            case Power(double exponent) -> end + (1 - end) * StrictMath.pow(1 - x, exponent);
        };
    }

    /** Stays at the peak, whatever the end is. */
    record Constant() implements Decline {}

    /** A straight line. */
    record Linear() implements Decline {}

    /** Half a period of a cosine. */
    record Cosine() implements Decline {}

    /**
     * Stable, then a straight line.
     *
     * @param decay the last fraction of the time, over which it falls: above 0, at most 1
     */
    record Trapezoid(double decay) implements Decline {
        /** Refuses a fraction out of range. */
        public Trapezoid {
            fraction(decay);
        }
    }

    /**
     * Stable, then {@code 1 - sqrt}.
     *
     * @param decay the last fraction of the time, over which it falls: above 0, at most 1
     */
    record OneMinusSqrt(double decay) implements Decline {
        /** Refuses a fraction out of range. */
        public OneMinusSqrt {
            fraction(decay);
        }
    }

    /**
     * {@code (1 - x)^exponent}: 1 is linear, 2 falls early, 0.5 late.
     *
     * @param exponent above zero and finite
     */
    record Power(double exponent) implements Decline {
        /** Refuses an exponent out of range. */
        public Power {
            if (!(exponent > 0 && exponent < Double.POSITIVE_INFINITY)) {
                throw new Refusal("power schedule's exponent is " + exponent + "; it must be above zero");
            }
        }
    }

    /**
     * Reads {@code linear}, {@code constant}, {@code cosine}, {@code trapezoid:0.2}, {@code 1-sqrt:0.2}, {@code power:2}.
     *
     * @param text a shape's name, with a number after a colon where it takes one; without the number it is as shown
     * @return the shape
     * @throws Refusal if it is none of these
     */
    static Decline parse(String text) {
        String lower = text.toLowerCase(Locale.ROOT);
        int colon = lower.indexOf(':'); // no split: with regular expressions the page's script was three times as long
        String[] parts =
                colon < 0 ? new String[] {lower} : new String[] {lower.substring(0, colon), lower.substring(colon + 1)};
        return switch (parts[0]) {
            case "constant" -> bare(parts, new Constant());
            case "linear" -> bare(parts, new Linear());
            case "cosine" -> bare(parts, new Cosine());
            case "trapezoid" -> new Trapezoid(number(parts, 0.2));
            case "1-sqrt" -> new OneMinusSqrt(number(parts, 0.2));
            case "power" -> new Power(number(parts, 2));
            default ->
                throw new Refusal(
                        "unknown schedule shape '" + text
                                + "'; the shapes are linear, constant, cosine, trapezoid:FRACTION, 1-sqrt:FRACTION, power:EXPONENT");
        };
    }

    private static Decline bare(String[] parts, Decline shape) {
        if (parts.length > 1) {
            throw new Refusal("schedule shape '" + parts[0] + ":" + parts[1] + "' takes no number; write " + parts[0]);
        }
        return shape;
    }

    private static double number(String[] parts, double otherwise) {
        try {
            return parts.length == 1 ? otherwise : Double.parseDouble(parts[1]);
        } catch (NumberFormatException e) {
            throw new Refusal("schedule shape '" + parts[0] + ":" + parts[1] + "' needs a number after the colon");
        }
    }

    private static double late(double x, double decay) {
        return Math.max(0, 1 - (1 - x) / decay); // so written it is 1 at x = 1, and no rate falls below zero
    }

    private static void fraction(double decay) {
        if (!(decay > 0 && decay <= 1)) {
            throw new Refusal("schedule's decaying fraction is " + decay + "; it must be above 0 and at most 1");
        }
    }
}
