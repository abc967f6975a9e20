package hypertransfer.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.core.Space.Base;
import java.io.IOException;
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
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Holds {@code python/hypertransfer.py} to this module: Python takes the steps that are written here. */
class PythonTest {
    private static final Path ROOT = Path.of("").toAbsolutePath().getParent();
    private static final int DRAWS = 300; // for each rule and pair of spaces

    @TempDir
    Path directory;

    @Test
    void algebraAgreesToRounding() throws Exception {
        List<String> vectors = vectors();
        Path file = Files.write(directory.resolve("vectors.txt"), vectors);
        Ended ended = python("check.py", "vectors", file.toString());
        assertThat(ended.code).as(ended.text).isZero();
        assertThat(ended.text).contains(vectors.size() + " vectors agree");
        System.out.println("python: " + ended.text.strip());
    }

    /** The control: a number that is off by 4e-15 is found, and so is a step that should have been refused. */
    @ParameterizedTest
    @ValueSource(strings = {"fair 0.5 0.1 2.0 3.0 |", "step 0.1 ball rescaled 0 1.0 1.0 1.0 1.0 1.0 0.0 0.5 | refused"})
    void differenceIsFound(String line) throws Exception {
        String wrong = line.startsWith("fair")
                ? "fair | 0.5 0.1 2.0 3.0 | " + Rates.fair(0.5, 0.1, 2, 3) * (1 + 4e-15)
                : "step | " + line.substring(5);
        Path file = Files.writeString(directory.resolve("wrong.txt"), wrong + "\n");
        Ended ended = python("check.py", "vectors", file.toString());
        assertThat(ended.code).as(ended.text).isEqualTo(1);
        assertThat(ended.text).contains("FAILED: line 1");
    }

    /** The recipes' Python is Python: each block of docs/USE.md is parsed. */
    @Test
    void recipesAreParsed() throws Exception {
        Path script = Files.writeString(directory.resolve("parse.py"), """
                import ast, re, sys
                blocks = re.findall("```python\\n(.*?)```", open(sys.argv[1]).read(), re.S)
                for block in blocks:
                    ast.parse(block)
                print(len(blocks), "blocks")
                """);
        Ended ended = python(script.toString(), ROOT.resolve("docs/USE.md").toString());
        assertThat(ended.code).as(ended.text).isZero();
        assertThat(ended.text).contains("4 blocks");
    }

    /** Runs where PyTorch is installed. */
    @Test
    void optimizerFollowsTheGoldenTrajectories() throws Exception {
        String golden = ROOT.resolve("train/src/test/resources/golden").toString();
        Ended first = python("check.py", "optimizer");
        assumeTrue(first.code != 3, "skipped: PyTorch is not installed");
        assertThat(first.code).as(first.text).isZero();
        Ended second = python("check.py", "golden", golden);
        assertThat(second.code).as(second.text).isZero();
    }

    private static List<String> vectors() {
        List<String> lines = new ArrayList<>();
        RandomGenerator random = new SplittableRandom(Draws.SEED);
        for (GradientRule rule : GradientRule.values()) {
            for (int pair = 0; pair < 4 * DRAWS; pair++) {
                Case c = Case.draw(random, pair % 4 < 2, pair % 2 == 0, rule);
                Reading reading =
                        random.nextInt(20) == 0 ? new Reading(c.state().norm(), 0, 0) : Explicit.reading(c.w(), c.u());
                lines.add(step(c.transfer(), c.state(), reading, random.nextInt(20) == 0 ? 0 : c.e()));
            }
            lines.addAll(edges(rule));
        }
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
        for (int i = 0; i < 1_000; i++) {
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
        return lines;
    }

    private static Transfer named(Mode mode, double decay, double targetDecay) {
        Transfer transfer = mode.transfer(decay);
        return mode == Mode.DECAY_TRANSFER ? transfer.following(new Base(targetDecay)) : transfer;
    }

    /** Zero matrices, zero directions, rates and readings that are refused. */
    private static List<String> edges(GradientRule rule) {
        List<String> lines = new ArrayList<>();
        double[] awkward = {0, 1, 2.5, Double.NaN, Double.POSITIVE_INFINITY, -1};
        for (Mode mode : Mode.values()) {
            Transfer named = named(mode, 0.4, 0.3);
            Transfer t = new Transfer(named.target(), named.carrier(), rule);
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
        return space instanceof Base(double decay) ? "" + decay : "ball";
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

    private record Ended(int code, String text) {}

    private static Ended python(String script, String... arguments) throws Exception {
        List<String> command = new ArrayList<>(
                List.of("python3", ROOT.resolve("python").resolve(script).toString()));
        command.addAll(List.of(arguments));
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).start();
        } catch (IOException e) {
            assumeTrue(false, "skipped: python3 is not installed");
            return null;
        }
        String text = new String(process.getInputStream().readAllBytes());
        return new Ended(process.waitFor(), text);
    }
}
