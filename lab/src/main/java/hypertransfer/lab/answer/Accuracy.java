package hypertransfer.lab.answer;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Update;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;

/**
 * What the prediction reached on a run; notes/LOG.md has the commands. Relative errors, root mean square.
 *
 * @param steps how long that run was
 * @param effective of the effective rate, over steps and matrices
 * @param endNorm of the norm at the last step, over matrices
 */
public record Accuracy(
        Preset preset, Variant network, Update.Kind direction, int steps, double effective, double endNorm) {
    /** Of several runs of one size and length the larger errors. */
    private static final List<Accuracy> MEASURED = List.of(
            new Accuracy(Preset.DEMO, Variant.M1, Update.Kind.MUON, 400, 0.077, 0.075),
            new Accuracy(Preset.DEMO, Variant.M1, Update.Kind.MUON, 200, 0.135, 0.076),
            new Accuracy(Preset.DEMO, Variant.M2, Update.Kind.MUON, 400, 0.064, 0.106),
            new Accuracy(Preset.SMALL, Variant.M1, Update.Kind.MUON, 25, 0.238, 0.014),
            new Accuracy(Preset.SMALL, Variant.M1, Update.Kind.MUON, 400, 0.103, 0.104),
            new Accuracy(Preset.SMALL, Variant.M2, Update.Kind.MUON, 400, 0.095, 0.118),
            new Accuracy(Preset.GPT2_124M, Variant.M1, Update.Kind.MUON, 610, 0.147, 0.115),
            new Accuracy(Preset.GPT2_124M, Variant.M1, Update.Kind.MUON, 70, 0.306, 0.219),
            new Accuracy(Preset.GPT2_124M, Variant.M2, Update.Kind.MUON, 610, 0.208, 0.133),
            new Accuracy(Preset.GPT2_124M, Variant.M2, Update.Kind.MUON, 100, 0.243, 0.300),
            new Accuracy(Preset.DENSE_500M, Variant.M1, Update.Kind.MUON, 60, 0.305, 0.111),
            new Accuracy(Preset.DEMO, Variant.M1, Update.Kind.ADAM, 200, 0.27, 0.017),
            new Accuracy(Preset.GPT2_124M, Variant.M1, Update.Kind.ADAM, 610, 0.620, 0.253));

    /** That of the measured run most like a configuration, of the same direction. */
    public static Accuracy nearest(Configuration c) {
        boolean adam = c.matrices().update().direction() == Update.Kind.ADAM;
        return MEASURED.stream()
                .filter(a -> (a.direction == Update.Kind.ADAM) == adam)
                .min(Comparator.comparingDouble(a -> a.distance(c)))
                .orElseThrow();
    }

    /** Widths count twice: what a longer run adds is its easier part. */
    private double distance(Configuration c) {
        int width = preset.architecture(network).width();
        return 2 * Math.abs(Math.log((double) c.model().width() / width))
                + Math.abs(Math.log((double) c.steps() / steps))
                + (c.network() == network ? 0 : 0.5);
    }

    /** In words, with a warning where this run is not like any that was measured. */
    public String text(Configuration c) {
        boolean far = distance(c) > 2;
        return String.format(
                Locale.ROOT,
                "measured error, rms over steps and matrices: effective rate %.0f %%, norm at the end %.0f %% (%s %s, %s, %d"
                        + " steps)%s",
                100 * effective,
                100 * endNorm,
                direction == Update.Kind.ADAM ? "AdamW" : "Muon",
                preset.label(),
                network,
                steps,
                far ? "; no run like this one was measured, so expect more" : "");
    }
}
