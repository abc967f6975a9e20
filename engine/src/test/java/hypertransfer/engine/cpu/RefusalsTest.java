package hypertransfer.engine.cpu;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.product.Natives;
import hypertransfer.engine.door.Checked;
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

    @Test
    void aPlatformWithoutNatives() {
        refused(
                () -> Natives.library("linux-riscv64"),
                "linux-riscv64 on the class path",
                "linux-x86_64",
                "linux-arm64",
                "macosx-arm64");
        assertThat(CpuEngine.missing()).isEmpty();
    }

    @Test
    void moreThanTheMachineHasIsRefusedWithTheTableBeforeAnythingIsAllocated() {
        try (Engine engine = Checked.of(new CpuEngine(DIMS, 1))) {
            Tensor first = engine.tensor(Role.ACTIVATION, "first", 1, 1);
            for (int i = 0; i < 1000; i++) {
                engine.tensor(Role.ACTIVATION, "vast" + i, 1 << 15, 1 << 15);
            }
            refused(engine::commit, "activation", "4096000.0 MiB", "total", "does not fit", "lower the batch");
            refused(() -> engine.read(first), "read: the engine is not committed");
        }
    }

    /** The count of scratch lines was an int, and failed with an ArithmeticException before memory was looked at. */
    @Test
    void scratchBeyondTheMachineIsRefusedWithTheTableToo() {
        try (Engine engine = Checked.of(new CpuEngine(new Dims(1, 8, 23_168, 64, 256), 64))) {
            engine.tensor(Role.MASTER, "fc", 4 * 23_168, 23_168);
            refused(engine::commit, "scratch", "total", "does not fit", "lower the batch", "smaller network");
        }
    }

    @Test
    void sizesThatDoNotDivide() {
        refused(() -> new Dims(1, 1, 10, 4, 3), "width 10", "head size 4");
        refused(() -> new Dims(1, 1, 9, 3, 3), "head size 3 is odd");
        refused(() -> new CpuEngine(DIMS, 0), "0 threads");
    }

    /** Products that overflow a long were taken for small ones. */
    @Test
    void sizesBeyondOneTensor() {
        int most = Integer.MAX_VALUE;
        refused(() -> new Dims(most, most, 8, 2, 3), "batch 2147483647 x sequence 2147483647", "lower the batch");
        refused(() -> new Dims(1 << 30, 1 << 30, 1 << 14, 2, 3), "batch 1073741824", "2^31");
        refused(() -> new Dims(1, 1, 65536, 64, 3), "width 65536 makes hidden matrices", "2^31", "lower the width");
        refused(() -> new Dims(1, 1, 4, 2, 1 << 30), "vocabulary 1073741824 x width 4", "2^31");
        assertThat(new Dims(1, 1, 23_170, 2, 3).C()).isEqualTo(23_170);
        refused(() -> new Dims(1, 1, 23_172, 2, 3), "width 23172");
        assertThat(new Dims(2047, 32768, 8, 2, 3).N()).isEqualTo(2047 * 32768);
        refused(() -> new Dims(2048, 32768, 8, 2, 3), "batch 2048");
    }
}
