package hypertransfer.train.optimizer;

import hypertransfer.core.Refusal;

/** What the settings of directions must be. */
final class Limits {
    private Limits() {}

    static void fraction(String name, double value) {
        if (!(value >= 0 && value < 1)) {
            throw new Refusal(name + " is " + value + "; it must be from 0 to less than 1");
        }
    }

    static void aboveZero(String name, double value) {
        if (!(value > 0 && value < Double.POSITIVE_INFINITY)) {
            throw new Refusal(name + " is " + value + "; it must be a finite number above zero");
        }
    }
}
