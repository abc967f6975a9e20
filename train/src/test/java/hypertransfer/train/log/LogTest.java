package hypertransfer.train.log;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogTest {
    @TempDir
    Path folder;

    private Path file;

    @BeforeEach
    void write() {
        file = folder.resolve(Run.METRICS);
        try (Log log = new Log(file)) {
            for (int step = 0; step < 6; step++) {
                log.append(new Line.Validation(step, 1));
                log.append(new Line.Training(step, 1, 1, 1, 1, Double.NaN, Double.NaN, 1));
            }
            log.force();
        }
    }

    private Tail metrics() {
        return new Run(folder).metrics();
    }

    private Optional<String> cut(int step, boolean validated) {
        return Log.cut(
                file,
                metrics(),
                line -> line.step() < step || line.step() == step && validated && line instanceof Line.Validation);
    }

    @Test
    void aCutOnlyShortensTheFile() throws IOException {
        String all = Files.readString(file);
        Object identity = identity();
        assertThat(cut(4, true)).isEmpty();
        assertThat(identity()).as("the same file").isEqualTo(identity);
        assertThat(all).startsWith(Files.readString(file));
        assertThat(Files.readAllLines(file)).hasSize(9).last().isEqualTo("{\"step\":4,\"validation\":1.0}");
        assertThat(cut(4, false)).isEmpty();
        assertThat(Files.readAllLines(file)).hasSize(8);
        assertThat(cut(0, false)).isEmpty();
        assertThat(file).isEmptyFile();
        assertThat(folder.resolve("metrics.jsonl.damaged")).doesNotExist();
    }

    private Object identity() throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    @Test
    void damagedLinesAreMovedAsideAndTold() throws IOException {
        String good = Files.readString(file);
        String bad = good.replace("{\"step\":2,\"validation\"", "{\"step\":2,\"validatio")
                .replace("{\"step\":5,\"validation\"", "{\"step\":5,\"validatio");
        Files.writeString(file, bad + "{\"step\":6,\"lo");
        assertThat(cut(5, false).orElseThrow())
                .contains("metrics.jsonl has 2 damaged lines", "line 5 is not JSON", "metrics.jsonl.damaged");
        assertThat(Files.readAllLines(file))
                .isEqualTo(good.lines()
                        .limit(10)
                        .filter(line -> !line.startsWith("{\"step\":2,\"val"))
                        .toList());
        assertThat(folder.resolve("metrics.jsonl.damaged"))
                .content()
                .isEqualTo("{\"step\":2,\"validatio:1.0}\n{\"step\":5,\"validatio:1.0}\n");
    }

    /** One line with a step from the future: the lines after it were cut off without a word. */
    @Test
    void linesAfterAWrongStepAreMovedAside() throws IOException {
        String good = Files.readString(file);
        Files.writeString(file, good.replace("{\"step\":2,\"loss\"", "{\"step\":92,\"loss\""));
        assertThat(cut(5, false).orElseThrow()).contains("has 3 damaged lines", "has step 3 after step 92");
        List<String> kept = Files.readAllLines(file),
                aside = Files.readAllLines(folder.resolve("metrics.jsonl.damaged"));
        assertThat(kept).hasSize(7).noneMatch(line -> line.contains("\"step\":92"));
        assertThat(aside).hasSize(3).allMatch(line -> line.contains("loss"));
        assertThat(Stream.concat(kept.stream(), aside.stream()))
                .containsAll(good.lines()
                        .filter(line -> !line.matches(".*\"step\":(5,|2,\"loss).*"))
                        .toList());
    }

    private static final int FIRST = 1_000_000, STEPS = 80_000;

    private void longLog(long hole) throws IOException {
        Files.delete(file);
        String line = new Line.Training(0, 1.5, 0.01, 0.01, 2048, Double.NaN, Double.NaN, 0.05).text();
        String lines = IntStream.range(FIRST, FIRST + STEPS)
                .mapToObj(step -> line.replace("\"step\":0", "\"step\":" + step))
                .collect(Collectors.joining("\n", hole > 0 ? "\n" : "", "\n"));
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(lines.getBytes(StandardCharsets.UTF_8)), hole);
        }
        assertThat(Files.size(file) - hole).as("more than a tail").isGreaterThan(Log.TAIL + (1 << 20));
    }

    /** A hole stands for the rest of a long log: whoever reads it finds a line there that is too long. */
    @Test
    void ofALongLogOnlyTheEndIsRead() throws IOException {
        longLog(1 << 27);
        int last = FIRST + STEPS - 100;
        Tail tail = metrics();
        assertThat(Log.cut(file, tail, line -> line.step() < last)).isEmpty();
        assertThat(tail.damage(false)).hasToString("");
        tail = metrics();
        assertThat(tail.last(Line.Training.class)).map(Line::step).hasValue(last - 1);
        assertThat(tail.damage(false)).hasToString("");
        tail = metrics();
        assertThat(tail.lines(Line.Training.class)).hasSize(STEPS - 100);
        assertThat(tail.damage(false)).asString().contains("has more than");
    }

    @Test
    void aCutFarBackReadsNoMoreThanItDrops() throws IOException {
        longLog(1 << 27);
        assertThat(metrics().last(Line.Training.class)).isPresent();
        assertThat(Log.cut(file, metrics(), line -> line.step() < FIRST + 10)).isEmpty(); // more than the tail is read
        assertThat(metrics().lines(Line.Training.class)).hasSize(10);
    }

    @Test
    void aFileRemovedUnderTheRunIsNoticed() throws IOException {
        try (Log log = new Log(file)) {
            log.force();
            Files.delete(file);
            assertRefused(log::force, "was removed or replaced");
            Files.writeString(file, "");
            assertRefused(log::force, "was removed or replaced");
        }
    }
}
