package hypertransfer.djl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.ndarray.types.DataType;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** What the optimizer remembers, to a file and back. */
@Torch
class StateTest {
    private static final Rate RATE = (id, step) -> 0.05 / (1 + step);
    private static final TinyWeights START = TinyWeights.seeded(7);

    @TempDir
    Path folder;

    /** Every mode, parts of matrices, and a direction of one's own, which remembers arrays of two shapes, and a space. */
    static Stream<Rule> rules() {
        Direction own = new OwnDirectionTest.Sign(0.9);
        return Stream.concat(
                Stream.of(Mode.values()).map(StateTest::rule),
                Stream.of(
                        rule(Mode.HYPERTRANSFER_PLUS).each(View.columns(2)),
                        new Rule(own, Mode.HYPERTRANSFER_PLUS.transfer(0.1), RATE),
                        rule(Mode.BASE).following(new Capped(0.1, 3))));
    }

    /** A rule of one's own for the norm. */
    record Capped(double decay, double top) implements Space {
        @Override
        public double after(double free, double along) {
            return Math.min(free, top);
        }
    }

    @ParameterizedTest
    @MethodSource("rules")
    void aResumedRunIsTheUninterruptedOneBitForBit(Rule hidden) throws IOException {
        Path file = folder.resolve("made/here/optimizer.state"); // the folder is not there
        TinyWeights middle;
        Map<String, double[]> end;
        try (TinyTraining whole = training(START, hidden)) {
            whole.run(0, 6);
            whole.optimizer.save(file);
            middle = whole.standing();
            whole.run(6, 12);
            end = whole.weights();
        }
        try (TinyTraining resumed = training(middle, hidden)) {
            resumed.optimizer.load(file);
            resumed.run(6, 12);
            assertThat(resumed.weights()).usingRecursiveComparison().isEqualTo(end);
        }
        try (var files = Files.list(file.getParent())) {
            assertThat(files).containsExactly(file);
        }
    }

    @Test
    void damageIsRefused() throws IOException {
        Path file = folder.resolve("optimizer.state");
        try (TinyTraining training = training(START, rule(Mode.HYPERTRANSFER))) {
            training.run(0, 1);
            TinyTraining.refused(() -> training.optimizer.load(file), "there is no file " + file + "; give what");
            training.optimizer.save(file);
            byte[] good = Files.readAllBytes(file);
            for (int cut : List.of(0, 3, 40, good.length / 2, good.length - 1)) {
                refused(training, Arrays.copyOf(good, cut));
            }
            for (int at = 0; at < good.length; at += 97) {
                byte[] bad = good.clone();
                bad[at] ^= 0x10;
                refused(training, bad);
            }
        }
    }

    /** Version 1 began with HTJ1 and had no number; a later one may come. */
    @Test
    void anotherVersionOfTheFormatIsRefused() throws IOException {
        try (TinyTraining training = training(START, rule(Mode.BASE))) {
            training.run(0, 1);
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            training.optimizer.save(bytes);
            byte[] later = bytes.toByteArray(), first = later.clone();
            later[7] = 3;
            first[3] = '1';
            for (Map.Entry<byte[], Integer> file : Map.of(first, 1, later, 3).entrySet()) {
                assertThatThrownBy(() -> training.optimizer.load(new ByteArrayInputStream(file.getKey())))
                        .isInstanceOf(Refusal.class)
                        .hasMessage("the optimizer state has format version " + file.getValue()
                                + ", and this library reads version 2; load it with the library that saved it, or let the"
                                + " optimizer start afresh");
            }
            training.run(1, 2); // a refused file leaves the optimizer as it was
        }
    }

    @Test
    void anotherRuleIsRefused() throws IOException {
        Rule signs = new Rule(new OwnDirectionTest.Sign(0.9), Mode.BASE.transfer(0.1), RATE);
        Rule others = new Rule(new OwnDirectionTest.Sign(0.8), Mode.BASE.transfer(0.1), RATE);
        refused(
                rule(Mode.HYPERTRANSFER),
                rule(Mode.HYPERBALL),
                "fc was trained with muon(0.95), Base(0.1) on Hyperball, rescaled, and is routed to muon(0.95), Hyperball");
        refused(
                rule(Mode.BASE).each(View.columns(2)),
                rule(Mode.BASE).each(View.rows(2)),
                "fc was trained with muon(0.95) of blocks(1, 2), Base(0.1), and is routed to muon(0.95) of blocks(2, 1),"
                        + " Base(0.1)");
        refused(
                new Rule(new OwnDirectionTest.Sign(0.9), Transfer.plain(new Capped(0.1, 3)), RATE),
                new Rule(new OwnDirectionTest.Sign(0.9), Transfer.plain(new Capped(0.1, 4)), RATE),
                "fc was trained with sign(0.9), Capped[decay=0.1, top=3.0], and is routed to sign(0.9),"
                        + " Capped[decay=0.1, top=4.0]");
        refused(signs, others, "fc was trained with sign(0.9), Base(0.1), and is routed to sign(0.8), Base(0.1)");
    }

    private void refused(Rule trained, Rule routed, String message) throws IOException {
        Path file = folder.resolve("optimizer.state");
        try (TinyTraining one = training(START, trained);
                TinyTraining other = training(START, routed)) {
            one.run(0, 1);
            one.optimizer.save(file);
            assertThatThrownBy(() -> other.optimizer.load(file))
                    .isInstanceOf(Refusal.class)
                    .hasMessage(message + "; give the optimizer the rules it was saved with");
        }
    }

    @Test
    void nothingIsSavedBeforeTheFirstStep() {
        try (TinyTraining training = training(START, rule(Mode.BASE))) {
            TinyTraining.refused(() -> training.optimizer.save(folder.resolve("optimizer.state")), "has taken no step");
            assertThat(folder).isEmptyDirectory();
        }
    }

    private static void refused(TinyTraining training, byte[] bytes) {
        assertThatThrownBy(() -> training.optimizer.load(new ByteArrayInputStream(bytes)))
                .isInstanceOf(Refusal.class);
    }

    private static Rule rule(Mode mode) {
        return Rule.muon(RATE, 0).in(mode, 0.1);
    }

    private static TinyTraining training(TinyWeights start, Rule hidden) {
        return new TinyTraining(start, true, DataType.FLOAT32, hidden, Rule.adamW(RATE, 0.1));
    }
}
