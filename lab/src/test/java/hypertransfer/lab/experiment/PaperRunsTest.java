package hypertransfer.lab.experiment;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Mode;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What {@code ht reproduce NAME --preset paper-50m} trains: the paper's lengths, with the rates that were tuned at it. */
class PaperRunsTest {
    private static final Preset PRESET = Preset.PAPER_50M;
    private static final List<String> DATA = List.of("data.train=x", "data.validation=x");

    @TempDir
    Path directory;

    /** Of every run that follows none: its rate and AdamW's. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            exp1       | M1 | 0   | muon=0.01/0.01, muonh=0.0125/0.01
            exp2-zero  | M2 | 0   | muon=0.01/0.01, muonh=0.0125/0.01
            exp2-tenth | M2 | 0.1 | muon=0.003/0.003, muonh=0.0125/0.003
            exp3       | M2 | 0.1 | muon=0.003/0.003, muonh-matched=0.0125/0.003
            adamw      | M1 | 0   | adamw=0.008/0.008, adamh=0.01/0.004
            decay      | M1 | 0   | muon=0.01/0.01
            """)
    void papersNumbers(String name, Variant network, double finalRatio, String rates) {
        Experiment experiment = Experiment.read(name);
        Map<String, String> wanted = new HashMap<>();
        for (String rate : rates.split(", ")) {
            wanted.put(rate.split("=")[0], rate.split("=")[1]);
        }
        experiment.runs().forEach((run, member) -> {
            Configuration c = configuration(experiment, run);
            assertThat(c.network()).as(run).isEqualTo(network);
            assertThat(c.steps()).isEqualTo(5723);
            assertThat(c.seed()).isEqualTo(1234);
            assertThat(c.model().batch() * c.model().accumulation() * c.model().sequence())
                    .isEqualTo(49_152);
            assertThat(c.matrices().curve().warmup()).isEqualTo(0.05);
            assertThat(c.adamw().curve()).as(run).isEqualTo(c.matrices().curve());
            assertThat(c.matrices().curve().finalRatio()).isEqualTo(finalRatio);
            assertThat(c.matrices().settings().shapeFactor()).hasToString("RMS");
            assertThat(IntStream.rangeClosed(0, 5723).filter(c::validatesBefore).boxed())
                    .contains(0, 125, 250, 5125, 5175, 5200, 5700, 5723)
                    .doesNotContain(25, 150, 5150);
            String leader = member.follows() == null ? run : member.follows();
            assertThat(c.matrices().rate() + "/" + c.adamw().rate()).as(run).isEqualTo(wanted.get(leader));
            boolean transferred =
                    c.matrices().mode() != Mode.BASE && c.matrices().mode() != Mode.HYPERBALL;
            assertThat(transferred).as(run).isEqualTo(member.follows() != null && !run.endsWith("placebo"));
        });
    }

    /** A follower takes its target's configuration from the target's folder, which is not there without training. */
    private Configuration configuration(Experiment experiment, String run) {
        Experiment.Member member = experiment.runs().get(run);
        if (member.follows() != null) {
            return ConfigurationFile.with(
                    configuration(experiment, member.follows()),
                    member.settings().toArray(String[]::new));
        }
        Map<String, Experiment.Member> alone =
                Map.of(run, new Experiment.Member(null, null, null, null, null, null, member.settings()));
        Experiment one = new Experiment(
                experiment.title(), experiment.settings(), null, alone, null, experiment.presets(), null);
        Plan plan = new Plan(one, PRESET, DATA, directory, directory, new PrintWriter(System.err));
        return plan.configuration(plan.chosen(run).orElseThrow());
    }
}
