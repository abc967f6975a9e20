package hypertransfer.core;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** The algorithms that have a name in the paper. */
public enum Mode {
    /** Muon, AdamW. */
    BASE,
    /** MuonH, AdamH. */
    HYPERBALL,
    /** Algorithm 1: a Hyperball follows a Base optimizer, on scale-invariant networks. */
    HYPERTRANSFER,
    /** Algorithm 2: a Base optimizer follows a Hyperball, on scale-invariant networks. */
    INVERSE_HYPERTRANSFER,
    /** Algorithm 3: algorithm 1 for every network. */
    HYPERTRANSFER_PLUS,
    /** Algorithm 4: algorithm 2 for every network. */
    INVERSE_HYPERTRANSFER_PLUS,
    /** The fair learning rate: a Base optimizer whose effective rate is the schedule. */
    FAIR,
    /** A Base optimizer of one weight decay follows one of another, on scale-invariant networks. */
    DECAY_TRANSFER;

    /** {@return the name users write, e.g. {@code inverse-hypertransfer-plus}} */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * The mode of a {@link #label}.
     *
     * @param label the name as users write it, in lower case with hyphens
     * @return the mode
     * @throws Refusal if no mode has this name; the message lists them
     */
    public static Mode parse(String label) {
        return Arrays.stream(values())
                .filter(mode -> mode.label().equals(label))
                .findFirst()
                .orElseThrow(() -> new Refusal("unknown mode '" + label + "'; the modes are "
                        + Arrays.stream(values()).map(Mode::label).collect(Collectors.joining(", "))));
    }

    /**
     * The transfer of this mode. {@link #DECAY_TRANSFER} has two weight decays: name the other one with {@code
     * DECAY_TRANSFER.transfer(decay).following(new Base(targetDecay))}; without it the target is the carrier.
     *
     * @param decay the weight decay lambda of the Base space, whether it is carrier or target; a Hyperball has none, and
     *     {@link #HYPERBALL} ignores it
     * @return the transfer
     * @throws Refusal if {@code decay} is not a finite number, zero or more
     */
    public Transfer transfer(double decay) {
        Space base = new Base(decay);
        Space ball = new Hyperball();
        return switch (this) {
            case BASE -> Transfer.plain(base);
            case HYPERBALL -> Transfer.plain(ball);
            case HYPERTRANSFER -> new Transfer(base, ball, GradientRule.RESCALED);
            case INVERSE_HYPERTRANSFER -> new Transfer(ball, base, GradientRule.RESCALED);
            case HYPERTRANSFER_PLUS -> new Transfer(base, ball, GradientRule.REPRESENTATIVE);
            case INVERSE_HYPERTRANSFER_PLUS -> new Transfer(ball, base, GradientRule.REPRESENTATIVE);
            case FAIR -> new Transfer(ball, base, GradientRule.AS_IS);
            case DECAY_TRANSFER -> new Transfer(base, base, GradientRule.RESCALED);
        };
    }
}
