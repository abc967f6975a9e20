package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Parameter;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import hypertransfer.core.Mode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A thousand steps: as many arrays and as much memory after them as before. */
class MemoryTest {
    private static final int WIDTH = 160;

    @BeforeAll
    static void torch() {
        Torch.required();
    }

    @Test
    void aThousandStepsLeaveNothingBehind() throws IOException {
        Rate rate = (id, step) -> 0.01;
        SequentialBlock block = new SequentialBlock()
                .add(Linear.builder().setUnits(WIDTH).build())
                .add(Linear.builder().setUnits(4).build());
        try (Model model = Model.newInstance("memory")) {
            model.setBlock(block);
            block.initialize(model.getNDManager(), DataType.FLOAT32, new Shape(1, WIDTH));
            Rule hidden = Rule.muon(rate, 0).in(Mode.HYPERTRANSFER_PLUS, 0.1);
            int before = arrays();
            try (HyperOptimizer optimizer = new HyperOptimizer(block, hidden, Rule.adamW(rate, 0.1))) {
                steps(optimizer, block, 100);
                int arrays = arrays();
                long resident = resident();
                steps(optimizer, block, 1000);
                assertThat(arrays()).isEqualTo(arrays);
                // one matrix left behind at every step would be 100 kB a step, 100 MB in all
                assertThat(resident() - resident).isLessThan(30_000_000);
            }
            assertThat(arrays()).as("after the optimizer was closed").isEqualTo(before);
            steps(new HyperOptimizer(block, hidden, Rule.adamW(rate, 0.1)), block, 1);
        }
        assertThat(arrays()).as("after the model was closed").isZero();
    }

    private static void steps(HyperOptimizer optimizer, SequentialBlock block, int steps) {
        for (int t = 0; t < steps; t++) {
            for (Parameter parameter : block.getParameters().values()) {
                NDArray weight = parameter.getArray();
                try (NDArray gradient = weight.mul(0.5)) {
                    optimizer.update(parameter.getId(), weight, gradient);
                }
            }
        }
    }

    /** All arrays that the engine has not freed, whoever holds them. */
    private static int arrays() {
        try (NDManager manager = NDManager.newBaseManager()) {
            return manager.getParentManager().getManagedArrays().size();
        }
    }

    /** The bytes of memory that the process has. */
    private static long resident() throws IOException {
        Path status = Path.of("/proc/self/status");
        assumeTrue(Files.exists(status), "no /proc to read the resident memory from");
        return Files.readAllLines(status).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> 1024 * Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst()
                .orElseThrow();
    }
}
