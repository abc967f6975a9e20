package hypertransfer.lab.experiment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.network.Preset;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PlanTest {
    /** The final ratio itself gave 0.1475 for 0.1244 at 40 steps, and 0.0819 for 0.0795 at 400. */
    @ParameterizedTest
    @ValueSource(strings = {"linear", "cosine", "trapezoid:0.3", "1-sqrt:0.2", "power:2"})
    void theLastStepHasTheRatio(String shape) {
        for (int steps : new int[] {40, 400, 5723}) {
            Configuration c =
                    ConfigurationFile.of("steps=" + steps, "matrices.schedule=" + shape, "matrices.rate=0.02");
            double ratio = Plan.finalRatio(c, 0.1244);
            Configuration matched = ConfigurationFile.with(c, "matrices.final_ratio=" + ratio);
            double last = matched.matrices().schedule(steps).rate(steps - 1);
            assertThat(last / 0.02).as(shape + " " + steps).isCloseTo(0.1244, within(1e-12));
        }
    }

    /** What the arena's file says of its decays, at both of its sizes; and every point of a grid can be trained. */
    @ParameterizedTest
    @CsvSource({"arena,demo", "arena,paper-50m", "record,demo", "record,paper-50m"})
    void gridsCanBeTrained(String name, String preset) {
        Experiment experiment = Experiment.read(name);
        Path nowhere = Path.of("nowhere");
        Plan plan = new Plan(
                experiment, Preset.parse(preset), List.of(), nowhere, nowhere, new PrintWriter(Writer.nullWriter()));
        experiment.runs().keySet().forEach(run -> {
            List<Configuration> all =
                    plan.points().get(run).stream().map(plan::configuration).toList();
            assertThat(all).as(run).hasSizeBetween(3, 4);
            if (name.equals("arena")) {
                Matrices shrinking = all.get(1).matrices();
                assertThat(shrinking.rate() * shrinking.decay()).as(run).isCloseTo(0.004, within(1e-4));
            }
        });
        assertThat(plan.points().keySet().stream()
                        .filter(run -> !experiment.runs().containsKey(run)))
                .hasSize(name.equals("arena") ? 9 : 10);
    }

    @Test
    void aRatioThatNoScheduleReaches() {
        assertThatThrownBy(() -> Plan.finalRatio(ConfigurationFile.of("steps=10"), 0.01))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("a last rate of 0.01 times the peak cannot be reached")
                .hasMessageContaining("take more steps");
        assertThatThrownBy(() -> Plan.finalRatio(ConfigurationFile.of("matrices.schedule=constant", "steps=10"), 0.5))
                .isInstanceOf(Refusal.class)
                .hasMessage(
                        "a last rate of 0.5 times the peak cannot be reached: schedule constant with steps=10 ends at"
                                + " 1.0 of the peak or above; take more steps or another schedule");
    }

    /** One step has the peak rate, whatever the final ratio is; that was refused. */
    @Test
    void theLastStepMayBeThePeak() {
        assertThat(Plan.finalRatio(ConfigurationFile.of("steps=1"), 1)).isEqualTo(1);
        assertThat(Plan.finalRatio(ConfigurationFile.of("matrices.schedule=constant"), 1))
                .isEqualTo(1);
    }
}
