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
    /** A Base optimizer whose effective rate is the schedule. */
    FAIR,
    /** A Base optimizer of one weight decay follows one of another. */
    DECAY_TRANSFER;

    /** The name users write: {@code inverse-hypertransfer-plus}. */
    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    public static Mode parse(String label) {
        return Arrays.stream(values())
                .filter(mode -> mode.label().equals(label))
                .findFirst()
                .orElseThrow(() -> new Refusal("unknown mode '" + label + "'; the modes are "
                        + Arrays.stream(values()).map(Mode::label).collect(Collectors.joining(", "))));
    }

    /**
     * The transfer of this mode.
     *
     * @param decay lambda of the Base space, wherever it stands; of the carrier where both are Base
     * @param targetDecay lambda of the target, for {@link #DECAY_TRANSFER} alone
     */
    public Transfer transfer(double decay, double targetDecay) {
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
            case DECAY_TRANSFER -> new Transfer(new Base(targetDecay), base, GradientRule.RESCALED);
        };
    }
}
