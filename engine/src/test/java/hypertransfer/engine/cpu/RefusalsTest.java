package hypertransfer.engine.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.engine.Dims;
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
        Pair.demanded();
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
        try (CpuEngine engine = new CpuEngine(DIMS, 1)) {
            Tensor first = engine.tensor(Role.ACTIVATION, "first", 1, 1);
            for (int i = 0; i < 1000; i++) {
                engine.tensor(Role.ACTIVATION, "vast" + i, 1 << 15, 1 << 15);
            }
            refuses(engine::commit, "activation", "4096000.0 MiB", "total", "does not fit", "lower the batch");
            refuses(() -> engine.read(first), "first is used before");
        }
    }

    @Test
    void sizesThatDoNotDivide() {
        refuses(() -> new Dims(1, 1, 10, 4, 3), "width 10", "head size 4");
        refuses(() -> new Dims(1, 1, 9, 3, 3), "head size 3 is odd");
        refuses(() -> new CpuEngine(DIMS, 0), "0 threads");
    }

    @Test
    void wrongShapesTokensAndOrders() {
        CpuEngine engine = new CpuEngine(DIMS, 1);
        Tensor x = engine.tensor(Role.ACTIVATION, "x", 3, 4);
        Tensor w = engine.tensor(Role.MASTER, "w", 5, 4);
        Tensor y = engine.tensor(Role.ACTIVATION, "y", 3, 4);
        engine.commit();
        refuses(() -> engine.product(x, w, y), "y is (3,4) where (3,5) belongs");
        refuses(() -> engine.embed(w, x), "feed");
        refuses(() -> engine.feed(new int[] {0, 1, 5}, new int[3]), "token 5 in a vocabulary of 5");
        refuses(() -> engine.feed(new int[2], new int[3]), "2 inputs for 3 tokens");
        refuses(() -> engine.write(x, new double[3]), "3 values for x (3,4)");
        refuses(() -> w.slice("part", 4, 2), "rows 4 to 6", "5 rows of w");
        engine.close();
        engine.close();
        refuses(() -> engine.read(x), "x is used before the engine's commit() or after its close()");
    }
}
