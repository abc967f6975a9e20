package hypertransfer.core;

/** What settings of directions must be; whoever takes them refuses others here. */
public final class Limits {
    private Limits() {}

    /**
     * Refuses a number outside of {@code [0, 1)}.
     *
     * @param name of the setting
     * @param value it has
     */
    public static void fraction(String name, double value) {
        if (!(value >= 0 && value < 1)) {
            throw new Refusal(name + " is " + value + "; it must be from 0 to less than 1");
        }
    }

    /**
     * Refuses a number that is not finite or not above zero.
     *
     * @param name of the setting
     * @param value it has
     */
    public static void aboveZero(String name, double value) {
        if (!(value > 0 && value < Double.POSITIVE_INFINITY)) {
            throw new Refusal(name + " is " + value + "; it must be a finite number above zero");
        }
    }

    /**
     * Refuses a number that is not finite or below zero.
     *
     * @param name of the setting
     * @param value it has
     */
    public static void zeroOrMore(String name, double value) {
        if (!(value >= 0 && value < Double.POSITIVE_INFINITY)) {
            throw new Refusal(name + " is " + value + "; it must be a finite number, zero or more");
        }
    }
}
