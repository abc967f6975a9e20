package hypertransfer.train.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TailTest {
    @TempDir
    Path folder;

    private Path file;
    private Tail tail;

    @BeforeEach
    void open() {
        file = folder.resolve("metrics.jsonl");
        tail = new Run(folder).metrics();
    }

    @Test
    void aFileThatIsNotThereYetHasNoLines() throws IOException {
        assertThat(tail.next()).isNull();
        assertThat(tail.cut()).isFalse();
        append(line(0));
        assertThat(steps()).containsExactly(0);
    }

    @Test
    void aHalfWrittenLineWaitsForItsRest() throws IOException {
        append(line(0) + line(1).substring(0, 9));
        assertThat(steps()).containsExactly(0);
        assertThat(tail.damage(false).lines()).isZero();
        assertThat(tail.damage(true)).hasToString("metrics.jsonl has 1 damaged line (line 2 ends in the middle)");
        append(line(1).substring(9) + line(2));
        assertThat(steps()).containsExactly(1, 2);
        assertThat(tail.damage(true).lines()).isZero();
        assertThat(steps()).isEmpty();
    }

    @Test
    void aCutFileIsNoticedAlsoWhenItHasGrownAgain() throws IOException {
        append(line(0) + line(1) + line(2));
        steps();
        assertThat(tail.cut()).isFalse();
        Files.writeString(file, line(0));
        assertThat(tail.cut()).isTrue();
        Files.writeString(file, line(0) + line(1) + line(3) + line(4));
        assertThat(tail.cut()).isTrue();
        tail.rewind();
        assertThat(steps()).containsExactly(0, 1, 3, 4);
        Files.delete(file);
        assertThat(tail.cut()).isTrue();
    }

    @Test
    void aHalfLineThatWasCutOffIsForgotten() throws IOException {
        append(line(0) + "{\"step\":1,\"validation\":9");
        assertThat(steps()).containsExactly(0);
        Files.writeString(file, line(0) + line(1));
        assertThat(tail.cut()).isFalse();
        assertThat(steps()).containsExactly(1);
        assertThat(tail.damage(true).lines()).isZero();
    }

    /** More than a chunk, so that lines lie across its ends. */
    @Test
    void aLongFileIsReadWhole() throws IOException {
        append(IntStream.range(0, 40_000).mapToObj(TailTest::line).collect(Collectors.joining()));
        assertThat(steps()).hasSize(40_000).last().isEqualTo(39_999);
        assertThat(tail.position()).isEqualTo(Files.size(file));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {"step":1,"l\u00ffss":1.5}
            {"step":1,"validation":1.5,
            [1]
            ''
            null
            {"loss":1.5}
            {"step":[],"validation":1.5}
            {"step":99999999999,"validation":1.5}
            {"step":1,"validation":1e400}
            {"step":1,"loss":1.5}
            {"step":1,"validation":"low"}
            {"step":0,"validation":1.5}
            {"step":1,"validation":1.5}{"step":2,"validation":1.5}
            """)
    void aDamagedLineIsCountedAndTheOthersRead(String bad) throws IOException {
        append(line(0));
        Files.write(file, (bad + "\n").getBytes(StandardCharsets.ISO_8859_1), StandardOpenOption.APPEND);
        append(line(2) + line(3));
        assertThat(steps()).containsExactly(0, 2, 3);
        assertThat(tail.damage(false).toString()).startsWith("metrics.jsonl has 1 damaged line (line 2 ");
    }

    @Test
    void aNumberOf400DigitsDamagesItsLineOnly() throws IOException {
        String line = "{\"step\":1,\"validation\":" + "9".repeat(400);
        append(line(0) + line + "}\n" + line + ".5}\n" + line(4));
        assertThat(steps()).containsExactly(0, 4);
        assertThat(tail.damage(false).lines()).isEqualTo(2);
    }

    @Test
    void everyLineIsReadAsItWasWritten() throws IOException {
        List<Line> written = List.of(
                new Line.Validation(0, 5.5),
                new Line.Training(0, 5.545177444479562, 1e-3, 5e-324, 1L << 40, Double.NaN, Double.NaN, 0.25),
                new Line.Validation(1, Double.NaN),
                new Line.Validation(2, 5.25, 5.375, 6.125),
                new Line.Validation(3, 5.25, 5.375, Double.NaN));
        for (Line line : written) {
            append(line.text() + "\n");
        }
        assertThat(tail.lines(Line.class)).isEqualTo(written);
        double[] values = {1, 0.1, Double.NaN};
        Line.Matrices matrices = new Line.Matrices(7, values, values, values, values, values, values, values, values);
        Files.writeString(folder.resolve("matrices.jsonl"), matrices.text() + "\n");
        assertThat(new Run(folder).matrices(3).next().text()).isEqualTo(matrices.text());
        assertThat(new Run(folder).matrices(2).next()).as("of another network").isNull();
    }

    private static String line(int step) {
        return new Line.Validation(step, 1.5).text() + "\n";
    }

    private List<Integer> steps() {
        return tail.lines(Line.class).map(Line::step).toList();
    }

    private void append(String text) throws IOException {
        Files.writeString(file, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
