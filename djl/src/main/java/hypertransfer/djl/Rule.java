package hypertransfer.djl;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Mode;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import java.util.Locale;

/**
 * How a parameter is trained. Any direction goes with any transfer.
 *
 * @param direction what the gradient becomes
 * @param transfer the space the parameter lives in, and the one whose dynamics it follows
 * @param rate the schedule of the target: an angle a step where it is a Hyperball
 */
public record Rule(Direction direction, Transfer transfer, Rate rate) {

    public static Rule muon(Rate rate, double decay) {
        return new Rule(Direction.muon(), Mode.BASE.transfer(decay), rate);
    }

    public static Rule muonH(Rate rate) {
        return new Rule(Direction.muon(), Mode.HYPERBALL.transfer(0), rate);
    }

    public static Rule adamW(Rate rate, double decay) {
        return new Rule(Direction.adam(), Mode.BASE.transfer(decay), rate);
    }

    public static Rule adamH(Rate rate) {
        return new Rule(Direction.adam(), Mode.HYPERBALL.transfer(0), rate);
    }

    /**
     * The same direction and rate in another of the paper's modes, e.g. {@code muon(rate, 0).in(Mode.HYPERTRANSFER,
     * 0.1)}. The rate is read as the mode's target reads it.
     *
     * @param decay the weight decay of the Base space, wherever it stands
     */
    public Rule in(Mode mode, double decay) {
        return new Rule(direction, mode.transfer(decay), rate);
    }

    /** A Base optimizer with weight decay {@code decay} that follows one with {@code targetDecay}. */
    public Rule decayTransfer(double targetDecay, double decay) {
        return new Rule(direction, Mode.DECAY_TRANSFER.transfer(decay).following(new Space.Base(targetDecay)), rate);
    }

    /** {@code muon, Base(0.1) on Hyperball, rescaled}: all of it but the rate. */
    @Override
    public String toString() {
        String spaces = transfer.isPlain()
                ? text(transfer.carrier())
                : text(transfer.target()) + " on " + text(transfer.carrier());
        String gradient = transfer.gradient() == GradientRule.AS_IS
                ? ""
                : ", " + transfer.gradient().name().toLowerCase(Locale.ROOT);
        return direction + ", " + spaces + gradient;
    }

    private static String text(Space space) {
        return switch (space) {
            case Space.Base(double decay) -> "Base(" + decay + ")";
            case Space.Hyperball() -> "Hyperball";
        };
    }
}
