package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ai.djl.Model;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.GradientCollector;
import ai.djl.training.Trainer;
import ai.djl.training.loss.Loss;
import hypertransfer.core.Mode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

/** Hundreds of steps: as many arrays and as much memory after them as before. */
@Torch
class MemoryTest {
    private static final int WIDTH = 8192, INPUTS = 8; // as many bytes as 256 x 256, and less to orthogonalize
    private static final int STATE = 1 + 3 * 2; // a mean for the hidden matrix, two moments for the three others

    @Test
    void hundredsOfStepsLeaveNothingBehind() throws IOException {
        Rate rate = (id, step) -> 0.01;
        Rule hidden = Rule.muon(rate, 0).in(Mode.HYPERTRANSFER_PLUS, 0.1);
        int outside = arrays();
        try (Model model = Model.newInstance("memory")) {
            model.setBlock(new SequentialBlock()
                    .add(Linear.builder().setUnits(WIDTH).build())
                    .add(Linear.builder().setUnits(4).build()));
            Routes routes = new Routes(model.getBlock(), hidden, Rule.adamW(rate, 0.1));
            HyperOptimizer optimizer = new HyperOptimizer(routes);
            try (Trainer trainer = model.newTrainer(new DefaultTrainingConfig(Loss.l2Loss()).optOptimizer(optimizer))) {
                trainer.initialize(new Shape(1, INPUTS));
                steps(trainer, 100);
                int arrays = arrays();
                long before = resident();
                steps(trainer, 150);
                long between = resident();
                steps(trainer, 150);
                assertThat(arrays()).isEqualTo(arrays);
                // One matrix left behind at every step would be 262 kB per step, 39 MB in each half; Java's own heap
                // grows only in one.
                assertThat(Math.min(between - before, resident() - between)).isLessThan(15_000_000);

                optimizer.close();
                assertThat(arrays()).as("after the optimizer was closed").isEqualTo(arrays - STATE);
            }
            var other = new DefaultTrainingConfig(Loss.l2Loss()).optOptimizer(new HyperOptimizer(routes));
            try (Trainer trainer = model.newTrainer(other)) {
                trainer.initialize(new Shape(1, INPUTS));
                steps(trainer, 1);
            }
        }
        assertThat(arrays())
                .as("after the model was closed, which frees a state that nobody did")
                .isEqualTo(outside);
    }

    private static void steps(Trainer trainer, int steps) {
        for (int t = 0; t < steps; t++) {
            try (NDManager batch = trainer.getManager().newSubManager();
                    GradientCollector collector = trainer.newGradientCollector()) {
                NDList data = new NDList(batch.ones(new Shape(2, INPUTS)).mul(t % 7 - 2.5));
                NDList labels = new NDList(batch.ones(new Shape(2, 4)));
                collector.backward(trainer.getLoss().evaluate(labels, trainer.forward(data)));
            }
            trainer.step();
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
