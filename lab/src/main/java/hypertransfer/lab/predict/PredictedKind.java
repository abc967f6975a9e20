package hypertransfer.lab.predict;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.prediction.Expected;
import hypertransfer.prediction.Fitted;
import hypertransfer.prediction.Prediction;
import hypertransfer.train.Word;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.NorMuon;
import hypertransfer.train.optimizer.View;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The hidden matrices of one kind that a configuration treats alike, and the prediction for each.
 *
 * @param name of the kind, with the layers behind it where other layers are treated differently
 */
public record PredictedKind(
        String name, List<Outline> matrices, Matrices settings, Shaped schedule, Expected expected) {
    private static final Iteration.Step JORDAN =
            Direction.Muon.standard().iteration().steps().getFirst();

    /** One for each kind of matrix, or more where {@code matrices.groups} tells layers apart. */
    static List<PredictedKind> of(Configuration c) {
        if (c.matrices().recorded() != null) {
            throw new Refusal("matrices.recorded is " + c.matrices().recorded()
                    + "; only a schedule can be predicted: --set matrices.recorded=null");
        }
        Map<String, Matrices> hidden = c.hidden();
        if (c.matrices().proxyGrowth() != null || hidden.values().stream().anyMatch(m -> m.proxyRate() > 0)) {
            throw new Refusal(
                    "matrices.proxy_growth and proxy_rate replace the paper's recursion, and only that recursion"
                            + " can be predicted: --set matrices.proxy_growth=null --set matrices.proxy_rate=0");
        }
        List<PredictedKind> all = new ArrayList<>();
        c.architecture().hidden().stream()
                .collect(Collectors.groupingBy(Outline::kind, LinkedHashMap::new, Collectors.toList()))
                .forEach((kind, outlines) -> {
                    Map<Matrices, List<Outline>> alike = outlines.stream()
                            .collect(Collectors.groupingBy(
                                    outline -> hidden.get(outline.name()), LinkedHashMap::new, Collectors.toList()));
                    alike.forEach((own, some) -> all.add(new PredictedKind(
                            name(some, alike.size() == 1),
                            some,
                            own,
                            own.schedule(c.steps()),
                            expected(c, some.getFirst(), own))));
                });
        return all;
    }

    /** {@code fc}, or {@code fc of 0,2} where these are not all. */
    static String name(List<Outline> some, boolean all) {
        String kind = some.getFirst().kind().label();
        return all
                ? kind
                : kind + " of " + some.stream().map(o -> "" + o.layer()).collect(Collectors.joining(","));
    }

    private static Expected expected(Configuration c, Outline matrix, Matrices own) {
        if (!own.view().equals(View.WHOLE)) {
            throw new Refusal("matrices.view is " + own.view().text()
                    + "; only whole matrices can be predicted: --set matrices.view=whole");
        }
        if (own.radius() != 1) {
            throw new Refusal("matrices.radius is " + own.radius() + "; only radius 1 can be predicted, and effective"
                    + " rates are the same on every radius: --set matrices.radius=1");
        }
        return switch (own.update()) {
            case Direction.Muon muon -> muon(c, matrix, muon);
            case NorMuon nor -> muon(c, matrix, nor.muon()); // whose norm is Muon's
            case Direction.Adam adam -> Expected.adam(matrix.rows(), matrix.cols(), adam.beta1());
            case Direction other ->
                throw new Refusal("matrices.direction is "
                        + direction(other).toLowerCase(Locale.ROOT)
                        + ", whose steps are unknown before the run; muon, normuon and adam can be predicted");
        };
    }

    /** Newton-Schulz's steps other than Muon's own converge to singular values of one. */
    private static Expected muon(Configuration c, Outline matrix, Direction.Muon muon) {
        int rows = matrix.rows(), cols = matrix.cols();
        boolean own = muon.iteration().steps().getFirst().equals(JORDAN);
        double factor = muon.shape().factor(rows, cols) * (own ? 1 : 1 / Fitted.singularValue(rows, cols));
        Outline.Kind kind = matrix.kind();
        boolean normed = c.network() == Variant.M1 || kind.compareTo(Outline.Kind.O) <= 0;
        return Expected.muon(rows, cols, factor, Fitted.lasting(kind.label(), muon.momentum()))
                .withOnset(Fitted.onset(kind.label(), c.model().width(), normed, muon.momentum()));
    }

    /** The rates of the run that the configuration asks for, as its target takes them. */
    Prediction target() {
        return Prediction.of(expected, settings.transfer().target(), schedule);
    }

    /** The same run as its carrier takes it. */
    Prediction carrier() {
        Transfer transfer = settings.transfer();
        Prediction target = target();
        return transfer.carrier().equals(transfer.target())
                ? target
                : Prediction.following(expected, transfer.carrier(), target.effective());
    }

    /** {@code Muon, decay 0.1, shape factor rms, width 128}: what a translation can change. */
    static String describe(Configuration c) {
        Matrices common = c.matrices();
        Space space = common.transfer().target();
        Direction update = common.update();
        boolean adam = update instanceof Direction.Adam;
        boolean shaped = update.factor(3, 2) != 1; // a shape at which no factor is 1
        return direction(update)
                + (space instanceof Space.Base(double decay) ? (adam ? "W" : "") + ", decay " + decay : "H")
                + (shaped ? ", shape factor " + Word.of(common.settings().shapeFactor()) : "")
                + ", width " + c.model().width();
    }

    private static String direction(Direction direction) {
        return direction.label().split(" ")[0];
    }
}
