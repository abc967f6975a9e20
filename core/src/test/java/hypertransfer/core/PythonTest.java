package hypertransfer.core;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Controlled;
import hypertransfer.core.Space.Hyperball;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Holds the Python package to this module: {@code python/tests/vectors.txt} is what this module computes, and the package's tests
 * compute it again. After a change of the algebra, write the file anew:
 * {@code mvn -pl core test -Dtest=PythonTest -Dvectors=write}.
 */
class PythonTest {
    private static final Path FILE = Path.of("../python/tests/vectors.txt");
    private static final int DRAWS = 10; // for each rule and pair of spaces

    @Test
    void vectorsOfThePythonPackageAreTheseSteps() throws Exception {
        List<String> vectors = vectors();
        if ("write".equals(System.getProperty("vectors"))) {
            Files.write(FILE, vectors);
        }
        assertThat(Files.readAllLines(FILE)).isEqualTo(vectors);
    }

    private static List<String> vectors() {
        List<String> lines = new ArrayList<>();
        RandomGenerator random = new SplittableRandom(1);
        for (GradientRule rule : GradientRule.values()) {
            for (int pair = 0; pair < 4 * DRAWS; pair++) {
                Case c = Case.draw(
                        random,
                        pair % 4 < 2 ? Case.Kind.BASE : Case.Kind.HYPERBALL,
                        pair % 2 == 0 ? Case.Kind.BASE : Case.Kind.HYPERBALL,
                        rule);
                Reading reading =
                        random.nextInt(20) == 0 ? new Reading(c.state().norm(), 0, 0) : Explicit.reading(c.w(), c.u());
                lines.add(step(c.transfer(), c.state(), reading, random.nextInt(20) == 0 ? 0 : c.e()));
            }
        }
        lines.addAll(edges());
        for (double decay : new double[] {-3, -0.1, 0, 0.5, 2, Double.NaN}) { // recorded decays
            for (Mode mode : List.of(Mode.BASE, Mode.HYPERBALL, Mode.HYPERTRANSFER)) {
                lines.add(step(mode.transfer(0.1), State.start("w", 2), new Reading(2, 3, 1), 0.5, decay));
            }
        }
        for (Mode mode : Mode.values()) {
            Transfer t = named(mode, 0.25, 0.5);
            lines.add(line(
                    "mode",
                    List.of(mode.label()),
                    () -> DoubleStream.of(
                            t.gradient().ordinal(),
                            t.target().decay(),
                            t.carrier().decay(),
                            t.target() instanceof Base ? 1 : 0,
                            t.carrier() instanceof Base ? 1 : 0)));
        }
        for (int i = 0; i < 40; i++) {
            double[] x = random.doubles(5, 1e-3, 0.9).toArray();
            lines.add(rate("effective", Rates.effective(x[0], x[1], x[2], x[3]), x[0], x[1], x[2], x[3]));
            lines.add(rate("fair", Rates.fair(x[0], x[1], x[2], x[3]), x[0], x[1], x[2], x[3]));
            lines.add(rate("transferred", Rates.transferred(x[0], x[1], x[2], x[3], x[4]), x));
            Step kept =
                    new Step(x[0], 0, 0, x[1], 0, 1, 1, State.start("w", 1)); // 1 - keep magnifies a rounding of keep
            lines.add(rate("implied", kept.impliedDecay(), x[0], x[1]));
            int steps = random.nextInt(1, 5_000);
            int t = random.nextInt(steps);
            double rate = Schedule.linear(x[0], steps, x[1], x[2]).rate(t);
            lines.add(line(
                    "linear",
                    List.of("" + t, "" + x[0], "" + steps, "" + x[1], "" + x[2]),
                    () -> DoubleStream.of(rate)));
        }
        for (int i = 0; i < 12 * DRAWS; i++) {
            Space policy = new Controlled(
                    random.nextDouble(0.2), random.nextDouble(2), random.nextDouble(), random.nextBoolean());
            Space other = i % 3 == 0 ? new Hyperball() : i % 3 == 1 ? new Base(0.1) : policy;
            Transfer t = new Transfer(
                    i % 2 == 0 ? policy : other, i % 2 == 0 ? other : policy, GradientRule.values()[i % 4]);
            double norm = random.nextDouble(0.1, 3), u = random.nextDouble(3), cos = random.nextDouble(-1, 1);
            State s = new State("w", 3, norm, norm, random.nextDouble(0.1, 3));
            lines.add(step(t, s, new Reading(norm, u, u * norm * cos), random.nextDouble(i % 5 == 0 ? 9 : 0.5)));
        }
        return lines;
    }

    private static Transfer named(Mode mode, double decay, double targetDecay) {
        Transfer transfer = mode.transfer(decay);
        return mode == Mode.DECAY_TRANSFER ? transfer.following(new Base(targetDecay)) : transfer;
    }

    /** Zero matrices, zero directions, rates and readings that are refused. */
    private static List<String> edges() {
        List<String> lines = new ArrayList<>();
        double[] awkward = {0, 1, 2.5, Double.NaN, Double.POSITIVE_INFINITY, -1};
        for (Mode mode : Mode.values()) {
            Transfer t = named(mode, 0.4, 0.3);
            for (double rate : awkward) {
                lines.add(step(t, State.start("w", 2), new Reading(2, 3, 1), rate));
                lines.add(step(t, State.start("w", 2), new Reading(2, 0, 0), rate));
                lines.add(step(t, State.start("w", 0), new Reading(0, 3, 0), rate));
                lines.add(step(t, State.zero("w", 2), new Reading(0, 3, 0), rate));
                lines.add(step(t, State.zero("w", 2), new Reading(0, 0, 0), rate));
            }
            for (double value : awkward) {
                lines.add(step(t, State.start("w", 2), new Reading(2, 3, value), 0.1));
            }
        }
        return lines;
    }

    private static String step(Transfer t, State s, Reading r, double e) {
        return step(t, s, r, e, t.target().decay());
    }

    private static String step(Transfer t, State s, Reading r, double e, double l) {
        List<String> given = Stream.of(
                        space(t.target()),
                        space(t.carrier()),
                        t.gradient().name().toLowerCase(Locale.ROOT).replace('_', '-'),
                        s.step(),
                        s.R(),
                        s.norm(),
                        s.targetNorm(),
                        r.w(),
                        r.u(),
                        r.uw(),
                        e,
                        l)
                .map(Object::toString)
                .toList();
        return line("step", given, () -> {
            Step step = t.step(s, r, e, l);
            State next = step.next();
            return DoubleStream.of(
                    t.evaluationScale(s),
                    t.gradientScale(s),
                    step.keep(),
                    step.push(),
                    step.nominal(),
                    step.effective(),
                    step.angle(),
                    step.norm(),
                    step.targetNorm(),
                    next.step(),
                    next.R(),
                    next.norm(),
                    next.targetNorm());
        });
    }

    private static String space(Space space) {
        return switch (space) {
            case Base(double decay) -> "" + decay;
            case Controlled(double decay, double floor, double brake, boolean pinned) ->
                decay + "," + floor + "," + brake + "," + (pinned ? 1 : 0);
            default -> "ball";
        };
    }

    private static String rate(String kind, double result, double... given) {
        return line(kind, Arrays.stream(given).mapToObj(Double::toString).toList(), () -> DoubleStream.of(result));
    }

    /** {@code kind | what it is given | what comes out}, every double exact. */
    private static String line(String kind, List<String> given, Supplier<DoubleStream> result) {
        String out;
        try {
            out = result.get().mapToObj(Double::toString).collect(Collectors.joining(" "));
        } catch (Refusal refusal) {
            out = "refused";
        }
        return kind + " | " + String.join(" ", given) + " | " + out;
    }
}
