package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Plan;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Preset;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class ExperimentTest {
    @TempDir
    Path directory;

    @TempDir
    static Path shared;

    private final Ht ht = new Ht();

    private String reproduce(String name, Path to, Object... more) {
        return ht.fine("reproduce " + name + " --out", to, Ht.TINY, "--set steps=10", List.of(more));
    }

    /** An experiment where all tests have it: the first that asks trains it. */
    private Path shared(String name) {
        Path to = shared.resolve(name);
        reproduce(name, to);
        return to;
    }

    /** Every experiment runs to its end in miniature, and its followers follow. */
    @ParameterizedTest
    @MethodSource("experiments")
    void everyExperimentRuns(String name) {
        Path to = shared(name);
        assertThat(to.resolve("report.html")).isNotEmptyFile();
        Experiment experiment = Experiment.read(name);
        assertThat(!name.equals("ablation")
                        || ht.out().contains("\nhypertransfer has all losses of muon, to the last bit"))
                .isTrue();
        experiment.runs().forEach((run, member) -> {
            assertThat(ht.out()).contains(run);
            if (member.follows() != null) {
                Gap gap = Gap.of(to.resolve(run), to.resolve(member.follows()));
                assertThat(gap.training().steps()).isEqualTo(10);
                assertThat(gap.logged()).as("logged steps in common").isPositive();
                boolean lacks = name.equals("ablation") && !run.equals("hypertransfer"); // something, and cannot follow
                assertThat(gap.validation().largest() < 1e-5).as(run).isNotEqualTo(lacks);
                assertThat(gap.rate() < 1e-4).as(run).isNotEqualTo(lacks);
            }
        });
    }

    static Stream<String> experiments() {
        return Experiment.KNOWN.keySet().stream().filter(name -> !name.startsWith("demo"));
    }

    /** The list is the files of runs/ that have a title; the others there are configurations. */
    @Test
    void theKnownExperimentsAreTheFilesOfRuns() throws IOException {
        assertThat(runs(true).stream().map(file -> file.getFileName().toString().replace(".yaml", "")))
                .containsExactlyInAnyOrderElementsOf(Experiment.KNOWN.keySet());
        assertThat(ht.fine("reproduce --help")).contains(Experiment.KNOWN.keySet());
    }

    /** The files of {@code runs/} that have a title, or those that have none. */
    static List<Path> runs(boolean titled) throws IOException {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(Path.of("..", "runs"), "*.yaml")) {
            for (Path file : files) {
                if (Files.readString(file).startsWith("title:") == titled) {
                    found.add(file);
                }
            }
        }
        return found;
    }

    /** It was the schedule's final ratio, which is reached one step after the last. */
    @Test
    void theMatchedRatioIsTheMeasuredOne() {
        Path exp3 = shared("exp3");
        double measured = Plan.ratio(exp3.resolve("muon"));
        JsonNode json = JsonMapper.shared().readTree(reproduce("exp3", exp3, "--json"));
        JsonNode rows = json.at("/parts/0/rows");
        assertThat(rows.findValuesAsString("run")).containsExactlyInAnyOrder("muon", "muonh-matched");
        for (JsonNode row : rows) {
            assertThat(row.path("end_to_peak").asDouble())
                    .isEqualTo(Plan.ratio(exp3.resolve(row.path("run").asString())));
        }
        assertThat(json.at("/twins").findValuesAsString("run")).containsExactly("inverse-hypertransfer-plus");
        assertThat(ht.err()).contains("finished before", "end/peak");
        assertThat(Plan.ratio(exp3.resolve("muonh-matched"))).isCloseTo(measured, within(1e-9));
        assertThat(measured).isBetween(0.01, 0.5);
    }

    /** The target was an absolute path, so that a moved experiment was another configuration, without a gap. */
    @Test
    void anExperimentCanBeMoved() throws IOException {
        Path first = directory.resolve("a #1: b");
        reproduce("decay", first);
        assertThat(first.resolve("triple-decay/config.yaml")).content().contains("target: \"../muon\"");
        Path second = Files.move(first, directory.resolve("c"));
        assertThat(reproduce("decay", second))
                .contains("triple-decay: finished before")
                .containsPattern("triple-decay (has all losses|is within \\S+) of muon");
    }

    @Test
    void fairRunsHaveOneEffectiveSchedule() {
        Path fair = shared("fair");
        Gap gap = Gap.of(fair.resolve("muon"), fair.resolve("adamw"));
        assertThat(gap.logged()).isEqualTo(10);
        assertThat(gap.rate()).isLessThan(1e-12);
    }

    @Test
    void aSecondCallTrainsNothing() {
        Path decay = shared("decay");
        assertThat(reproduce("decay", decay)).contains("muon: finished before").doesNotContain("step 00001");
        assertThat(ht.refused("reproduce decay --out", decay))
                .contains("muon was started with another configuration (steps was 10, is 400; ");
    }

    /** Several processes on one directory: what one holds is left to it, and taken over when it is killed. */
    @Test
    void aRunThatAnotherProcessHoldsIsWaitedFor() throws IOException {
        Holder.of(directory.resolve("muon")).killedAfter(directory.resolve("inverse-hypertransfer"));
        assertThat(reproduce("exp1", directory).lines().filter(line -> line.matches("run \\d of 5.*")))
                .map(line -> line.split("[,;] ?")[1])
                .containsExactly("muonh", "inverse-hypertransfer", "muon", "hypertransfer", "muon-placebo");
    }

    @Test
    void severalSeedsGiveASpreadAndAPresetThatIsNotTunedTakesTheDefaults() {
        assertThat(reproduce("decay --preset small --seeds 2", directory))
                .contains("no rates are tuned for this preset", "over 2 seeds");
        for (String run : List.of("muon", "triple-decay")) {
            Configuration second = new Run(directory.resolve("seed-1235").resolve(run)).configuration();
            assertThat(second.seed()).as(run).isEqualTo(1235);
            assertThat(second.preset()).isEqualTo(Preset.SMALL);
        }
    }
}
