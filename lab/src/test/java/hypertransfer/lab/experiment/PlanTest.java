package hypertransfer.lab.experiment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
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

    @Test
    void aRatioThatNoScheduleReaches() {
        assertThatThrownBy(() -> Plan.finalRatio(ConfigurationFile.of("steps=10"), 0.01))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("a last rate of 0.01 of the peak cannot be reached")
                .hasMessageContaining("take more steps");
        assertThatThrownBy(() -> Plan.finalRatio(ConfigurationFile.of("matrices.schedule=constant"), 0.5))
                .isInstanceOf(Refusal.class);
    }
}
