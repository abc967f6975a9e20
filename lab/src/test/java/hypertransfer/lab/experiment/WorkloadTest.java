package hypertransfer.lab.experiment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Mode;
import hypertransfer.engine.EngineException;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Variant;
import org.junit.jupiter.api.Test;

class WorkloadTest {
    @Test
    void aNetworkThatDoesNotFitLeavesNoThreadBehind() {
        String before = System.getProperty("ht.threads");
        System.setProperty("ht.threads", "3");
        try {
            Architecture vast = new Architecture(Variant.M1, 256, 400, 16_384, 64, 8);
            assertThatThrownBy(() -> new Workload("cpu", vast, 1, Mode.BASE.transfer(0.1), false))
                    .isInstanceOf(EngineException.class)
                    .hasMessageContaining("does not fit");
            assertThat(Thread.getAllStackTraces().keySet())
                    .noneMatch(thread -> thread.getName().startsWith("ht-cpu-"));
        } finally {
            if (before == null) {
                System.clearProperty("ht.threads");
            } else {
                System.setProperty("ht.threads", before);
            }
        }
    }
}
