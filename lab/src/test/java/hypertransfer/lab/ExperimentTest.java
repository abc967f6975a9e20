package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Refusal;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Plan;
import hypertransfer.lab.report.Report;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Preset;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class ExperimentTest {
    private static final String[] TINY = {
        "--set",
        "steps=10",
        "--set",
        "model.layers=1",
        "--set",
        "model.width=16",
        "--set",
        "model.head=8",
        "--set",
        "model.sequence=16",
        "--set",
        "model.batch=2",
        "--set",
        "validation.batches=1"
    };

    @TempDir
    Path directory;

    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return Main.run(new PrintWriter(out), new PrintWriter(err), false, args);
    }

    private int tiny(String... args) {
        return run(Stream.concat(Stream.of(args), Stream.of(TINY)).toArray(String[]::new));
    }

    /** Every experiment runs to its end in miniature, and its followers follow. */
    @ParameterizedTest
    @MethodSource("experiments")
    void everyExperimentRuns(String name) {
        Path to = directory.resolve(name);
        assertThat(tiny("reproduce", name, "--out", to.toString()))
                .as(err.toString())
                .isZero();
        assertThat(to.resolve("report.html")).isNotEmptyFile();
        Experiment experiment = Experiment.read(name);
        experiment.runs().forEach((run, member) -> {
            assertThat(out.toString()).contains(run);
            if (member.follows() != null) {
                Gap gap = Gap.of(to.resolve(run), to.resolve(member.follows()));
                assertThat(gap.training().steps()).isEqualTo(10);
                assertThat(gap.logged()).as("logged steps in common").isPositive();
                assertThat(gap.validation().largest()).as(run).isLessThan(1e-5);
                assertThat(gap.rate()).as(run).isLessThan(1e-4);
            }
        });
    }

    static Stream<String> experiments() {
        return Experiment.KNOWN.keySet().stream().filter(name -> !name.startsWith("demo"));
    }

    /** The list is the files of runs/ that have a title; the others there are configurations. */
    @Test
    void theKnownExperimentsAreTheFilesOfRuns() throws IOException {
        try (Stream<Path> files = Files.list(Path.of("..", "runs"))) {
            List<String> titled = files.filter(file -> {
                        try {
                            return Files.readString(file).startsWith("title:");
                        } catch (IOException e) {
                            throw new AssertionError(e);
                        }
                    })
                    .map(file -> file.getFileName().toString().replace(".yaml", ""))
                    .toList();
            assertThat(Experiment.KNOWN.keySet()).containsExactlyInAnyOrderElementsOf(titled);
        }
        assertThat(run("reproduce", "--help")).isZero();
        assertThat(out.toString()).contains(Experiment.KNOWN.keySet());
    }

    /** It was the schedule's final ratio, which is reached one step after the last. */
    @Test
    void theMatchedRatioIsTheMeasuredOne() {
        assertThat(tiny("reproduce", "exp3", "--out", directory.toString())).isZero();
        double measured = Plan.ratio(directory.resolve("muon"));
        assertThat(tiny("reproduce", "exp3", "--out", directory.toString(), "--json"))
                .isZero();
        JsonNode rows = JsonMapper.shared().readTree(out.toString());
        assertThat(rows.path(0).path("end_over_peak").asDouble()).isEqualTo(measured);
        assertThat(rows.path(0).path("final_gap").isNull()).isTrue();
        assertThat(err.toString()).contains("finished before", "end/peak");
        assertThat(Plan.ratio(directory.resolve("muonh-matched"))).isCloseTo(measured, within(1e-9));
        assertThat(measured).isBetween(0.01, 0.5);
    }

    /** The target was an absolute path, so that a moved experiment was another configuration, without a gap. */
    @Test
    void anExperimentCanBeMoved() throws IOException {
        Path first = directory.resolve("a #1: b");
        assertThat(tiny("reproduce", "decay", "--out", first.toString()))
                .as(err.toString())
                .isZero();
        assertThat(first.resolve("triple-decay/config.yaml")).content().contains("target: \"../muon\"");
        Path second = Files.move(first, directory.resolve("c"));
        assertThat(tiny("reproduce", "decay", "--out", second.toString()))
                .as(err.toString())
                .isZero();
        assertThat(out.toString())
                .contains("triple-decay: finished before")
                .containsPattern("triple-decay +\\S+ +[-+]\\d");
    }

    @Test
    void fairRunsHaveOneEffectiveSchedule() {
        assertThat(tiny("reproduce", "fair", "--out", directory.toString())).isZero();
        Gap gap = Gap.of(directory.resolve("muon"), directory.resolve("adamw"));
        assertThat(gap.logged()).isEqualTo(10);
        assertThat(gap.rate()).isLessThan(1e-12);
    }

    @Test
    void aSecondCallTrainsNothing() {
        assertThat(tiny("reproduce", "decay", "--out", directory.toString())).isZero();
        assertThat(tiny("reproduce", "decay", "--out", directory.toString())).isZero();
        assertThat(out.toString()).contains("muon: finished before").doesNotContain("step 00001");
        refused(
                "muon was started with another configuration (now steps: 400)",
                "reproduce",
                "decay",
                "--out",
                directory.toString());
    }

    /** Several processes on one directory: what one holds is left to it, and taken over when it is killed. */
    @Test
    void aRunThatAnotherProcessHoldsIsWaitedFor() throws IOException {
        Holder.of(directory.resolve("muon")).killedAfter(directory.resolve("inverse-hypertransfer"));
        assertThat(tiny("reproduce", "exp1", "--out", directory.toString()))
                .as(err.toString())
                .isZero();
        assertThat(out.toString().lines().filter(line -> line.matches("run \\d of 5.*")))
                .map(line -> line.split("[,;] ?")[1])
                .containsExactly("muonh", "inverse-hypertransfer", "muon", "hypertransfer", "muon-placebo");
    }

    @Test
    void aPresetThatIsNotTunedTakesTheDefaults() {
        String[] small = {"reproduce", "decay", "--preset", "small", "--out", directory.toString()};
        assertThat(tiny(small)).as(err.toString()).isZero();
        assertThat(out.toString()).contains("no rates are tuned for this preset");
        assertThat(new Run(directory.resolve("muon")).configuration().preset()).isEqualTo(Preset.SMALL);
    }

    @Test
    void severalSeedsGiveASpread() {
        assertThat(tiny("reproduce", "decay", "--seeds", "2", "--out", directory.toString()))
                .isZero();
        assertThat(out.toString()).contains("over 2 seeds");
        assertThat(new Run(directory.resolve("seed-1235/muon")).configuration().seed())
                .isEqualTo(1235);
        assertThat(new Run(directory.resolve("seed-1235/triple-decay"))
                        .configuration()
                        .seed())
                .isEqualTo(1235);
    }

    @Test
    void badInputIsOneSentence() {
        refused("unknown experiment 'exp9'; there are exp1, exp2-zero", "reproduce", "exp9");
        refused("unknown preset 'huge'; the presets are demo, small", "reproduce", "exp1", "--preset", "huge");
        refused("there is no file x.yaml in", "sweep", "x.yaml", "--grid", "rate=1,2");
        refused("is not a run", "transfer", directory.toString(), "--mode", "hypertransfer");
        refused("there is no file", "train", directory.resolve("absent.yaml").toString());
        assertThatThrownBy(() -> Report.write(List.of(), directory.resolve("r.html")))
                .isInstanceOf(Refusal.class);
    }

    @Test
    void aTransferMustFitTheRunItFollows() throws IOException {
        Path file = Files.writeString(directory.resolve("muon.yaml"), "network: M1\n");
        Path muon = directory.resolve("muon");
        assertThat(tiny("train", file.toString(), "--out", muon.toString()))
                .as(err.toString())
                .isZero();
        refused(
                "muon has the dynamics of Base(0.1), which mode inverse-hypertransfer does not follow; "
                        + "use one of hypertransfer, hypertransfer-plus, decay-transfer",
                "transfer",
                muon.toString(),
                "--mode",
                "inverse-hypertransfer");
        assertThat(run("transfer", muon.toString(), "--mode", "hypertransfer")).isZero();
        assertThat(out.toString()).contains("gap to the target: 10 of 10 steps have a target", "effective rate");
        assertThat(run("transfer", muon.toString(), "--mode", "hypertransfer")).isZero();
        assertThat(out.toString()).contains("is already finished").doesNotContain("step 00001");
        refused("unknown mode 'x'", "transfer", muon.toString(), "--mode", "x");
        assertThat(run("transfer", muon.toString(), "--mode", "hypertransfer-plus", "--at", "10"))
                .as(err.toString())
                .isZero();
        refused(
                "no checkpoint of step 3; it has those of [10]",
                "transfer",
                muon.toString(),
                "--mode",
                "hypertransfer",
                "--at",
                "3");
    }

    private void refused(String reason, String... args) {
        assertThat(run(args)).isEqualTo(2);
        assertThat(err.toString()).startsWith("ht: ").contains(reason).doesNotContain("\tat ");
        assertThat(err.toString().lines()).hasSize(1);
    }
}
