package hypertransfer.engine.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Checked;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Machines and calls that the engine cannot serve. */
class RefusalsTest {
    private static final Dims DIMS = new Dims(1, 3, 4, 2, 5);

    @BeforeEach
    void demanded() {
        String engine = System.getProperty("ht.engine", "cpu");
        assumeTrue(engine.equals("cpu"), "ht.engine demands " + engine);
    }

    private static void refuses(ThrowingCallable call, String... words) {
        assertThatThrownBy(call).isInstanceOf(EngineException.class).hasMessageContainingAll(words);
    }

    @Test
    void aPlatformWithoutNatives() {
        refuses(() -> Natives.library("linux-riscv64"), "linux-riscv64", "linux-x86_64", "linux-arm64", "macosx-arm64");
        assertThat(CpuEngine.missing()).isEmpty();
    }

    @Test
    void moreThanTheMachineHasIsRefusedWithTheTableBeforeAnythingIsAllocated() {
        try (Engine engine = new Checked(new CpuEngine(DIMS, 1))) {
            Tensor first = engine.tensor(Role.ACTIVATION, "first", 1, 1);
            for (int i = 0; i < 1000; i++) {
                engine.tensor(Role.ACTIVATION, "vast" + i, 1 << 15, 1 << 15);
            }
            refuses(engine::commit, "activation", "4096000.0 MiB", "total", "does not fit", "lower the batch");
            refuses(() -> engine.read(first), "read: the engine is not committed");
        }
    }

    @Test
    void sizesThatDoNotDivide() {
        refuses(() -> new Dims(1, 1, 10, 4, 3), "width 10", "head size 4");
        refuses(() -> new Dims(1, 1, 9, 3, 3), "head size 3 is odd");
        refuses(() -> new CpuEngine(DIMS, 0), "0 threads");
    }
}
