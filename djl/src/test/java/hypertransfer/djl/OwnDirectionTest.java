package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A direction that is not ours is trained, saved and restored like ours. */
@Torch
class OwnDirectionTest {
    private static final TinyWeights START = TinyWeights.seeded(7);

    @TempDir
    Path folder;

    /** The sign of a mean, and the largest gradient ever seen: arrays of two shapes. */
    record Sign(double beta) implements Direction {
        @Override
        public String signature() {
            return "sign(" + beta + ")";
        }

        @Override
        public List<Shape> memory(Shape parameter) {
            return List.of(parameter, new Shape(1));
        }

        @Override
        public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
            NDArray mean = memory.get(0), largest = memory.get(1);
            mean.muli(beta).addi(gradient.mul(1 - beta));
            largest.maximum(gradient.abs().max()).copyTo(largest);
            return mean.div(largest).sign();
        }
    }

    /** Counts to {@code elements} at its first step, and remembers it. */
    private static Made large(long elements) {
        return new Made("large(" + elements + ")", List.of(new Shape(elements)), (gradient, memory, step) -> {
            NDArray numbers = memory.getFirst();
            try (NDArray count = gradient.getManager().arange(0, elements, 1, DataType.FLOAT32)) {
                if (step == 0) {
                    numbers.addi(count);
                }
                try (NDArray same = numbers.eq(count)) {
                    assertThat(same.all().getBoolean()).as("step %d", step).isTrue();
                }
            }
            return gradient;
        });
    }

    /** StateTest saves and resumes it. */
    @Test
    void aDirectionOfOnesOwnTrains() {
        Rate rate = (id, step) -> 0.02 / (1 + step / 10.0);
        Rule hidden = new Rule(new Sign(0.9), Mode.HYPERTRANSFER.transfer(0.1), rate);
        try (TinyTraining training = new TinyTraining(START, true, DataType.FLOAT32, hidden, Rule.adamW(rate, 0.1))) {
            double first = training.step(0);
            training.run(1, 30);
            assertThat(training.backward(0)).isLessThan(first);
        }
    }

    @Test
    void theReadmeShowsIt() throws IOException {
        String source = Files.readString(Path.of("src/test/java/hypertransfer/djl/OwnDirectionTest.java"));
        String readme = Files.readString(Path.of("README.md"));
        int from = readme.indexOf("    record Sign");
        assertThat(source).contains(readme.substring(from, readme.indexOf("```", from)));
    }

    @Test
    void arraysOfSeveralPiecesAreSavedAndRestored() throws IOException {
        savesAndRestores(2_500_001);
    }

    /** 2.4 GB in one array: more than a Java array of bytes can hold. */
    @Test
    @EnabledIfSystemProperty(named = "ht.slow", matches = "true")
    void arraysAboveTwoGigabytesAreSavedAndRestored() throws IOException {
        savesAndRestores(600_000_000);
    }

    private void savesAndRestores(long elements) throws IOException {
        Path file = folder.resolve("large.state");
        try (TinyTraining training = one(large(elements))) {
            training.step(0);
            training.optimizer.save(file);
            training.optimizer.load(file);
            training.step(1);
        }
        assertThat(Files.size(file)).isGreaterThan(4 * elements);
    }

    @Test
    void aDirectionOfAnotherShapeIsRefused() {
        try (TinyTraining training = one(new Made("scalar", List.of(), (gradient, memory, step) -> gradient.max()))) {
            assertThatThrownBy(() -> training.step(0))
                    .isInstanceOf(Refusal.class)
                    .hasMessage(
                            "fc has shape (32, 8), and its direction scalar made one of shape (); a direction has the"
                                    + " shape of its gradient");
        }
    }

    @Test
    void anotherNumberOfArraysIsRefused() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (TinyTraining training = one(large(3))) {
            training.step(0);
            training.optimizer.save(bytes);
        }
        Shape three = new Shape(3);
        Made impostor = new Made("large(3)", List.of(three, three), large(3)::of);
        try (TinyTraining training = one(impostor)) {
            assertThatThrownBy(() -> training.optimizer.load(new ByteArrayInputStream(bytes.toByteArray())))
                    .isInstanceOf(Refusal.class)
                    .hasMessage(
                            "fc is (32, 8) and needs [(3), (3)], but its saved state is [(3)]; load the state of this"
                                    + " model");
        }
    }

    /** Only fc has the direction. */
    private static TinyTraining one(Direction direction) {
        Rate rate = (id, step) -> 0.01;
        Rule rest = Rule.adamW(rate, 0);
        Rule rule = new Rule(direction, Mode.BASE.transfer(0), rate);
        return new TinyTraining(
                START,
                true,
                DataType.FLOAT32,
                block -> new HyperOptimizer(new Routes(block, rest, rest).choose("fc", rule)));
    }
}
