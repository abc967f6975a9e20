package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
import hypertransfer.train.tensorboard.Scalars;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reads event files as TensorBoard does: records with checksums, each a protocol buffer. */
class EventsTest {
    @TempDir
    Path dir;

    @Test
    void theCurvesAreThoseOfTheRun() throws IOException {
        Tiny tiny = new Tiny(dir);
        Path run = tiny.train("run", "steps=20", "log.matrices_every=5");
        Map<String, Map<Integer, Float>> curves = curves(run);
        Curves t = Tiny.curves(run);
        assertThat(curves.get("loss/train")).isEqualTo(floats(t.losses())).hasSize(20);
        assertThat(curves.get("loss/validation")).isEqualTo(floats(t.validations()));
        assertThat(curves.get("rate/matrices")).hasSize(20).containsEntry(0, 0.02f);
        assertThat(curves.get("rate/adamw")).hasSize(20).containsEntry(0, 0.01f);
        assertThat(curves.get("throughput/tokens_per_second").values())
                .hasSize(20)
                .allMatch(v -> v > 0);
        Line.Matrices fifth = Tiny.matrices(run).get(5);
        assertThat(curves.get("norm/attn.q")).containsOnlyKeys(0, 5, 10, 15, 19).containsEntry(5, (float)
                fifth.norm()[0]);
        assertThat(curves.get("effective_rate/mlp.proj")).containsEntry(5, (float) fifth.effective()[5]);
        assertThat(curves.get("radial/attn.q")).containsOnlyKeys(0, 19).containsEntry(19, (float)
                Math.abs(Tiny.matrices(run).get(19).radial()[0]));
        assertThat(curves.keySet())
                .doesNotContain("loss/carrier_minus_represented")
                .contains("target_norm/mlp.fc", "nominal_rate/attn.v", "implied_decay/attn.o")
                .noneMatch(tag -> tag.startsWith("gap/"));
    }

    /** 400,000 steps made a file of 798 MB; TensorBoard itself draws a thousand points. */
    @Test
    void aLongRunHasFewerPoints() throws IOException {
        Tiny tiny = new Tiny(dir);
        Path run = tiny.train("run", "steps=2");
        try (Stream<Path> files = Files.list(run)) {
            for (Path old : files.filter(f -> f.getFileName().toString().startsWith("events"))
                    .toList()) {
                Files.delete(old);
            }
        }
        try (Scalars scalars = new Scalars(new Run(run), tiny.configuration("steps=40000"), List.of(), 0)) {
            for (int step = 39_900; step < 40_000; step++) {
                scalars.add(new Line.Training(step, 1, 1, 1, 1, Double.NaN, Double.NaN, 1));
                scalars.add(new Line.Validation(step, 1));
            }
        }
        assertThat(curves(run).get("loss/train").keySet()).hasSize(26).contains(39_900, 39_904, 39_999);
        assertThat(curves(run).get("loss/validation")).hasSize(100);
    }

    /** Every head was a kind of its own. */
    @Test
    void partsOfAMatrixAreOfItsKind() throws IOException {
        Tiny tiny = new Tiny(dir);
        Path run = tiny.train("run", "steps=2", "matrices.view=heads");
        assertThat(new Run(run).provenance().matrices()).contains("blocks.0.attn.q#1.weight");
        assertThat(curves(run).keySet()).contains("norm/attn.q").noneMatch(tag -> tag.contains("#"));
    }

    @Test
    void aFollowersGapIsThereAsFarAsItsTargetWent() throws IOException {
        Tiny tiny = new Tiny(dir);
        tiny.trainUntil("target", tiny.configuration("network=M2", "steps=20"), 12);
        Path run = tiny.train(
                "follower", "network=M2", "steps=20", "matrices.mode=hypertransfer-plus", "target=../target");
        Map<String, Map<Integer, Float>> curves = curves(run);
        assertThat(curves.get("loss/carrier_minus_represented").keySet())
                .isEqualTo(curves.get("loss/validation").keySet());
        Curves own = Tiny.curves(run), target = Tiny.curves(dir.resolve("target"));
        assertThat(curves.get("gap/train")).hasSize(12);
        curves.get("gap/train")
                .forEach((step, gap) -> assertThat(gap).isEqualTo((float)
                        (own.losses().get(step) - target.losses().get(step))));
        assertThat(curves.get("gap/validation").keySet())
                .isEqualTo(target.validations().keySet());
    }

    private static Map<String, Map<Integer, Float>> curves(Path run) throws IOException {
        Path file = run.resolve(Tiny.files(run).stream()
                .filter(name -> name.startsWith("events.out.tfevents."))
                .findFirst()
                .orElseThrow());
        List<Map<Integer, Object>> events = records(Files.readAllBytes(file));
        assertThat(text(events.getFirst().get(3))).isEqualTo("brain.Event:2");
        Map<String, Map<Integer, Float>> curves = new HashMap<>();
        for (Map<Integer, Object> event : events.subList(2, events.size())) {
            assertThat((double) event.get(1)).as("the time").isGreaterThan(1.7e9);
            int step = ((Long) event.get(2)).intValue();
            Map<Integer, Object> value = message(message(event.get(5)).get(1));
            curves.computeIfAbsent(text(value.get(1)), tag -> new TreeMap<>()).put(step, (float) value.get(2));
        }
        return curves;
    }

    private static Map<Integer, Float> floats(Map<Integer, Double> curve) {
        Map<Integer, Float> floats = new TreeMap<>();
        curve.forEach((step, value) -> floats.put(step, value.floatValue()));
        return floats;
    }

    private static List<Map<Integer, Object>> records(byte[] bytes) {
        ByteBuffer in = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
        List<Map<Integer, Object>> records = new ArrayList<>();
        while (in.hasRemaining()) {
            byte[] length = take(in, 8);
            assertThat(in.getInt()).as("checksum of the length").isEqualTo(masked(length));
            byte[] data = take(in, (int)
                    ByteBuffer.wrap(length).order(ByteOrder.LITTLE_ENDIAN).getLong());
            assertThat(in.getInt()).as("checksum of the data").isEqualTo(masked(data));
            records.add(message(data));
        }
        return records;
    }

    private static byte[] take(ByteBuffer in, int count) {
        byte[] bytes = new byte[count];
        in.get(bytes);
        return bytes;
    }

    private static int masked(byte[] data) {
        CRC32C crc = new CRC32C();
        crc.update(data);
        return Integer.rotateRight((int) crc.getValue(), 15) + 0xa282ead8;
    }

    /** The fields of a protocol buffer by number: Long, Double, Float or bytes. */
    private static Map<Integer, Object> message(Object bytes) {
        ByteBuffer in = ByteBuffer.wrap((byte[]) bytes).order(ByteOrder.LITTLE_ENDIAN);
        Map<Integer, Object> fields = new HashMap<>();
        while (in.hasRemaining()) {
            long key = varint(in);
            Object value = switch ((int) key & 7) {
                case 0 -> varint(in);
                case 1 -> in.getDouble();
                case 2 -> take(in, (int) varint(in));
                case 5 -> in.getFloat();
                default -> throw new AssertionError("wire type " + (key & 7));
            };
            assertThat(fields.put((int) key >>> 3, value)).isNull();
        }
        return fields;
    }

    private static long varint(ByteBuffer in) {
        long value = 0;
        for (int shift = 0; ; shift += 7) {
            byte b = in.get();
            value |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                return value;
            }
        }
    }

    private static String text(Object bytes) {
        return new String((byte[]) bytes, StandardCharsets.UTF_8);
    }
}
