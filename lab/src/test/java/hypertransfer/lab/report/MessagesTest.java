package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Turning;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Base64;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class MessagesTest {
    private static final JsonMapper JSON = JsonMapper.shared();

    @TempDir
    Path folder;

    private SyntheticRun run;

    @BeforeEach
    void write() throws IOException {
        run = new SyntheticRun(folder.resolve("muon"), 0, "steps=30", "matrices.rate=0.02").finished();
    }

    @Test
    void aRunIsNamedAsACommandTakesItHere() {
        assertThat(read().getFirst().path("folder").asString()).isEqualTo(run.directory.toString());
        assertThat(Messages.here(Path.of("out/muon").toAbsolutePath())).hasToString("out/muon");
    }

    @Test
    void everyNumberOfTheFilesArrives() {
        List<JsonNode> messages = read();
        assertThat(messages).extracting(m -> m.path("type").asString()).containsExactly("run", "lines", "state");
        JsonNode head = messages.getFirst();
        assertThat(head.path("network").asString()).isEqualTo("M1 demo");
        assertThat(head.path("direction").asString()).isEqualTo("muon");
        assertThat(head.path("mode").asString()).isEqualTo("base");
        assertThat(head.path("engine").asString()).isEqualTo("cpu");
        assertThat(head.path("config").path("matrices.rate").asString()).isEqualTo("0.02");
        assertThat(head.path("provenance").path("parameters").asString()).isEqualTo("852480");
        assertThat(head.path("matrices").size()).isEqualTo(24);
        assertThat(messages.getLast().path("state").asString()).isEqualTo("finished");

        JsonNode lines = messages.get(1);
        int trained = 0, validated = 0, logged = 0;
        double elapsed = 0;
        for (String text : run.metricLines) {
            JsonNode line = JSON.readTree(text);
            if (line.has("validation")) {
                same(lines.path("validation"), validated, "step", line.path("step"));
                same(lines.path("validation"), validated++, "loss", line.path("validation"));
                continue;
            }
            for (String key : List.of("step", "loss", "rate", "adam_rate", "tokens")) {
                same(lines.path("training"), trained, key, line.path(key));
            }
            elapsed += line.path("seconds").doubleValue();
            assertThat(lines.path("training").path("elapsed").path(trained).doubleValue())
                    .isEqualTo(elapsed);
            trained++;
        }
        for (String text : run.matrixLines) {
            for (var field : JSON.readTree(text).properties()) {
                if (field.getKey().equals("step")) {
                    same(lines.path("matrices"), logged, "step", field.getValue());
                    continue;
                }
                FloatBuffer rows = floats(lines.path("matrices").path(field.getKey()));
                for (int m = 0; m < 24; m++) {
                    assertThat(rows.get(24 * logged + m))
                            .isEqualTo((float) field.getValue().path(m).doubleValue());
                }
            }
            logged++;
        }
        assertThat(List.of(trained, validated, logged)).containsExactly(30, 4, 7);
        Turning turning = Turning.of(new Run(run.directory));
        assertThat(lines.path("turning").path("angle").doubleValue()).isEqualTo(turning.angle());
        assertThat(lines.path("turning").path("peak").doubleValue()).isEqualTo(turning.peak());
        assertThat(lines.path("matrices").path("turned").size()).isEqualTo(7);
        assertThat(lines.path("matrices").path("turned").path(6).doubleValue()).isEqualTo(turning.angleBefore());
        assertThat(lines.path("training").path("step").size()).isEqualTo(30);
    }

    private static void same(JsonNode columns, int row, String key, JsonNode expected) {
        JsonNode value = columns.path(key).path(row);
        assertThat(value.doubleValue()).isEqualTo(expected.doubleValue());
    }

    static FloatBuffer floats(JsonNode text) {
        return ByteBuffer.wrap(Base64.getDecoder().decode(text.asString()))
                .order(ByteOrder.LITTLE_ENDIAN)
                .asFloatBuffer();
    }

    @Test
    void whatIsAppendedArrivesAlone() throws IOException {
        run.begin().append(5, 1);
        Messages feed = feed();
        assertThat(feed.read()).hasSize(3);
        assertThat(feed.read()).isEmpty();
        run.append(8, 1);
        JsonNode lines = JSON.readTree(feed.read().getFirst());
        assertThat(lines.path("training").path("step").size()
                        + lines.path("validation").path("step").size())
                .isEqualTo(3);
        assertThat(lines.path("matrices").path("step").size()).isZero();
    }

    @Test
    void aResumedRunStartsAgain() throws IOException {
        run.begin().append(20, 2);
        Messages feed = feed();
        feed.read();
        run.append(10, 2);
        List<String> messages = feed.read();
        assertThat(messages.getFirst()).contains("\"type\":\"run\"");
        assertThat(JSON.readTree(messages.get(1)).path("matrices").path("step").size())
                .isEqualTo(2);
    }

    @Test
    void aNumberThatIsNotFiniteIsNull() throws IOException {
        append("metrics.jsonl", "{\"step\":30,\"loss\":null,\"rate\":0,\"adam_rate\":0,\"tokens\":1,\"seconds\":1}\n");
        JsonNode loss = read().get(1).path("training").path("loss");
        assertThat(loss.get(30).isNull()).isTrue();
    }

    @Test
    void aHalfLineIsForgivenWhileTheRunIsWritten() throws IOException {
        append("metrics.jsonl", "{\"step\":30,\"lo");
        assertThat(message()).contains("metrics.jsonl has 1 damaged line (line 35 ends in the middle), left out here");
        run.state("running");
        assertThat(message()).isEmpty();
        assertThat(read().get(1).path("training").path("step").size()).isEqualTo(30);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
                    metrics.jsonl  | {"step":30,"loss":1.5,          | metrics.jsonl has 1 damaged line (line 35 is not JSON
                    metrics.jsonl  | {"step":12,"validation":1.5}    | line 35 has step 12 after step 30
                    matrices.jsonl | {"step":30,"norm":[1,2]}        | matrices.jsonl has 1 damaged line (line 8 has 2 numbers
                    """)
    void aDamagedLineIsNamedAndTheRestShown(String file, String line, String message) throws IOException {
        append(file, line + "\n");
        assertThat(message()).contains(message, ", left out here");
        assertThat(read().get(1).path("training").path("step").size()).isEqualTo(30);
    }

    @Test
    void theGapToTheTargetIsComputedHere() throws IOException {
        List<SyntheticRun> pairs = SyntheticRun.pairs(folder.resolve("pairs"), 20);
        Run own = new Run(pairs.get(2).directory), target = new Run(pairs.get(0).directory);
        Gap gap = Gap.of(own.directory(), target.directory());
        JsonNode sent = new Messages("hypertransfer", "muon", own, 1)
                .read().stream().map(JSON::readTree).toList().get(2);
        assertThat(sent.path("type").asString()).isEqualTo("gap");
        assertThat(sent.path("norm").asDouble()).isEqualTo(gap.norm()).isBetween(1e-5, 1e-2);
        assertThat(sent.path("rate").asDouble()).isEqualTo(gap.rate());
        assertThat(sent.path("logged").asInt()).isEqualTo(gap.logged()).isEqualTo(5);
        assertThat(sent.path("validation").path("last").asDouble())
                .isEqualTo(gap.validation().last());
    }

    /** What the last message says of the files. */
    private String message() {
        return read().getLast().path("message").asString("");
    }

    private void append(String file, String text) throws IOException {
        Files.writeString(run.directory.resolve(file), text, StandardOpenOption.APPEND);
    }

    private Messages feed() {
        return new Messages("muon", null, new Run(run.directory), 1);
    }

    private List<JsonNode> read() {
        return feed().read().stream().map(JSON::readTree).toList();
    }
}
