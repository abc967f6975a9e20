package hypertransfer.lab.answer;

import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.core.prediction.Expected;
import hypertransfer.core.prediction.Onset;
import hypertransfer.core.prediction.Prediction;
import hypertransfer.engine.Iteration;
import hypertransfer.train.config.Algorithm;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Course;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.NorMuon;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.DoubleFunction;
import java.util.stream.Collectors;

/**
 * The hidden matrices of one kind that the configuration treats alike, and what it lets expect of each.
 *
 * @param name q, k, v, o, gate, fc or proj; with the layers behind it where the kind has several groups
 * @param matrices their names
 */
public record Kind(String name, int rows, int cols, List<String> matrices, Expected expected, Course course) {
    /** |u| at the first step at width 128, as a part of what it becomes; notes/LOG.md says where the numbers are from. */
    private static final Map<String, Double> FIRST =
            Map.of("q", 0.80, "k", 0.80, "v", 0.66, "o", 0.66, "fc", 0.91, "proj", 0.86);

    private static final Iteration.Step JORDAN =
            Direction.Muon.standard().iteration().steps().getFirst();

    /** The kinds of a configuration: one for each matrix of a block, or more where {@code matrices.groups} tells layers apart. */
    public static List<Kind> of(Configuration c) {
        if (c.matrices().recorded() != null) {
            throw new Refusal("matrices.recorded is " + c.matrices().recorded()
                    + "; only a schedule can be predicted: --set matrices.recorded=null");
        }
        if (c.matrices().proxy().prescribed()) {
            throw new Refusal("matrices.proxy_growth prescribes the norms already; only what follows from the paper's"
                    + " recursion can be predicted: --set matrices.proxy_growth=null");
        }
        Algorithm algorithm = c.algorithm();
        Map<String, List<Outline>> named = c.architecture().outlines().stream()
                .filter(Outline::hidden)
                .collect(Collectors.groupingBy(
                        outline -> outline.kind().label(), LinkedHashMap::new, Collectors.toList()));
        List<Kind> kinds = new ArrayList<>();
        named.forEach((name, outlines) -> {
            Map<Course, List<String>> alike = outlines.stream()
                    .map(Outline::name)
                    .collect(Collectors.groupingBy(algorithm::of, LinkedHashMap::new, Collectors.toList()));
            Outline shape = outlines.getFirst();
            alike.forEach((course, matrices) -> kinds.add(kind(
                    alike.size() == 1 ? name : name + " of " + layers(matrices),
                    shape.rows(),
                    shape.cols(),
                    matrices,
                    course,
                    momentum -> onset(c, name, momentum))));
        });
        return kinds;
    }

    private static String layers(List<String> matrices) {
        return matrices.stream().map(name -> name.split("\\.")[1]).collect(Collectors.joining(","));
    }

    /** Wide networks begin with a lower rank, apart from the MLP of M2, and leave it later. */
    private static Onset onset(Configuration c, String name, double momentum) {
        double scale = c.model().width() / 128.0;
        boolean same = c.network() == Variant.M2 && (name.equals("fc") || name.equals("proj"));
        double part = FIRST.get(name) * (same ? 1 : Math.pow(scale, -1.0 / 6));
        return new Onset(Math.min(1, part), 25 * Math.pow(scale, 1.4), Math.sqrt(momentum));
    }

    private static Kind kind(
            String name, int rows, int cols, List<String> matrices, Course course, DoubleFunction<Onset> onset) {
        if (course.radius() != 1) {
            throw new Refusal(
                    "matrices.radius is " + course.radius() + "; only radius 1 can be predicted, and effective"
                            + " rates are the same on every radius: --set matrices.radius=1");
        }
        Expected expected = switch (course.direction()) {
            case Direction.Muon muon -> muon(muon, rows, cols, onset);
            case NorMuon nor -> muon(nor.muon(), rows, cols, onset); // whose norm is Muon's
            case Direction.Adam adam -> Expected.adam(rows, cols, adam.beta1());
            case Direction other ->
                throw new Refusal("matrices.direction is "
                        + other.label().split(" ")[0].toLowerCase(Locale.ROOT)
                        + ", whose steps are unknown before the run; muon, normuon and adam can be predicted");
        };
        return new Kind(name, rows, cols, matrices, expected, course);
    }

    /** How many matrices there are. */
    public int count() {
        return matrices.size();
    }

    /** Newton-Schulz's steps other than Muon's own converge to singular values of one. */
    private static Expected muon(Direction.Muon muon, int rows, int cols, DoubleFunction<Onset> onset) {
        boolean own = muon.iteration().steps().getFirst().equals(JORDAN);
        double factor = muon.shape().factor(rows, cols) * (own ? 1 : 1 / Expected.singularValue(rows, cols));
        return Expected.muon(rows, cols, factor, muon.momentum()).withOnset(onset.apply(muon.momentum()));
    }

    /** The rates of the run that the configuration asks for, as its target takes them. */
    public Prediction target() {
        return Prediction.of(expected, course.transfer().target(), course.schedule());
    }

    /** The same run as its carrier takes it. */
    public Prediction carrier() {
        Transfer transfer = course.transfer();
        Prediction target = target();
        return transfer.carrier().equals(transfer.target())
                ? target
                : Prediction.following(expected, transfer.carrier(), target.effective());
    }

    /** Whether a matrix is one of these. */
    public boolean has(String matrix) {
        return matrices.contains(matrix);
    }

    String name(List<String> some) {
        return name.split(" ")[0] + " of " + layers(some);
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
            case SOAP -> ball ? "SOAPH" : "SOAP";
        };
    }

    /** {@code Muon, decay 0.1, shape factor rms, width 128}: what a translation can change. */
    public static String describe(Configuration c) {
        Space space = c.algorithm().common().transfer().target();
        boolean shaped = c.algorithm().common().direction().factor(3, 2) != 1; // a shape at which no factor is 1
        return optimizer(c, space)
                + (space instanceof Space.Base(double decay) ? ", decay " + decay : "")
                + (shaped
                        ? ", shape factor "
                                + c.matrices().update().shapeFactor().name().toLowerCase(Locale.ROOT)
                        : "")
                + ", width " + c.model().width();
    }
}
