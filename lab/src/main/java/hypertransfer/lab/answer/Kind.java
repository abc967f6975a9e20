package hypertransfer.lab.answer;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Expected;
import hypertransfer.core.Prediction;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.NorMuon;
import java.util.List;
import java.util.Locale;

/**
 * The hidden matrices of one kind, one per layer, and what a configuration lets expect of each.
 *
 * @param name q, k, v, o, fc or proj
 */
public record Kind(String name, int rows, int cols, int count, Expected expected) {
    /** Newton-Schulz's steps other than Muon's own converge to singular values of one. */
    private static final double CONVERGED = 1 / 0.88;

    /** The six kinds of a configuration. */
    public static List<Kind> of(Configuration c) {
        if (c.matrices().recorded() != null) {
            throw new Refusal("matrices.recorded is " + c.matrices().recorded()
                    + "; only a schedule can be predicted: --set matrices.recorded=null");
        }
        if (c.matrices().proxy().prescribed()) {
            throw new Refusal("matrices.proxy_growth prescribes the norms already; only what follows from the paper's"
                    + " recursion can be predicted: --set matrices.proxy_growth=null");
        }
        int C = c.model().width();
        return List.of(
                kind(c, "q", C, C),
                kind(c, "k", C, C),
                kind(c, "v", C, C),
                kind(c, "o", C, C),
                kind(c, "fc", 4 * C, C),
                kind(c, "proj", C, 4 * C));
    }

    private static Kind kind(Configuration c, String name, int rows, int cols) {
        Expected expected = switch (c.algorithm().direction()) {
            case Direction.Muon muon -> muon(c, muon, rows, cols);
            case NorMuon nor -> muon(c, nor.muon(), rows, cols); // whose norm is Muon's
            case Direction.Adam adam -> Expected.adam(rows, cols, adam.beta1());
            case Direction other ->
                throw new Refusal("matrices.direction is "
                        + other.label().split(" ")[0].toLowerCase(Locale.ROOT)
                        + ", whose steps are unknown before the run; muon, normuon and adam can be predicted");
        };
        return new Kind(name, rows, cols, c.model().layers(), expected);
    }

    private static Expected muon(Configuration c, Direction.Muon muon, int rows, int cols) {
        boolean own = c.matrices().update().coefficients() == Coefficients.JORDAN;
        double factor = muon.shape().factor(rows, cols) * (own ? 1 : CONVERGED);
        return Expected.muon(rows, cols, factor, muon.momentum());
    }

    /** The rates of the run that the configuration asks for, as its target takes them. */
    public Prediction target(Configuration c) {
        return Prediction.of(
                expected, c.algorithm().transfer().target(), c.algorithm().schedule());
    }

    /** The same run as its carrier takes it. */
    public Prediction carrier(Configuration c) {
        Transfer transfer = c.algorithm().transfer();
        Prediction target = target(c);
        return transfer.carrier().equals(transfer.target())
                ? target
                : Prediction.following(expected, transfer.carrier(), target.effective());
    }

    /** Whether a matrix's name is of this kind. */
    public boolean has(String matrix) {
        return matrix.contains("." + name + ".");
    }

    /** {@code Muon}, {@code AdamH}: the direction with the space it is used in. */
    public static String optimizer(Configuration c, Space space) {
        boolean ball = space instanceof Space.Hyperball;
        return switch (c.matrices().update().direction()) {
            case MUON -> ball ? "MuonH" : "Muon";
            case ADAM -> ball ? "AdamH" : "AdamW";
            case SGD -> ball ? "sgd on a Hyperball" : "sgd";
            case LION -> ball ? "LionH" : "Lion";
            case SIGNUM -> ball ? "SignumH" : "Signum";
            case NORMUON -> ball ? "NorMuonH" : "NorMuon";
            case ADAMUON -> ball ? "AdaMuonH" : "AdaMuon";
        };
    }

    /** {@code Muon, decay 0.1, shape factor rms, width 128}: what a translation can change. */
    public static String describe(Configuration c) {
        Space space = c.algorithm().transfer().target();
        boolean shaped = c.algorithm().direction().factor(3, 2) != 1; // a shape at which no factor is 1
        return optimizer(c, space)
                + (space instanceof Space.Base(double decay) ? ", decay " + decay : "")
                + (shaped
                        ? ", shape factor "
                                + c.matrices().update().shapeFactor().name().toLowerCase(Locale.ROOT)
                        : "")
                + ", width " + c.model().width();
    }

    /** The schedule as it is configured; a shape that can be searched. */
    public static Schedule.Shaped schedule(Configuration c) {
        return c.algorithm().schedule();
    }
}
