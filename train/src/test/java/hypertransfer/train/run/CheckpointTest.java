package hypertransfer.train.run;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints that were cut, flipped or lost; -Dht.slow=true tries every byte. */
class CheckpointTest {
    @TempDir
    Path dir;

    private Tiny tiny;
    private Configuration c;
    private Run run;
    private Path checkpoints;

    @BeforeEach
    void train() {
        tiny = new Tiny(dir);
        c = tiny.configuration("steps=20", "model.width=8", "model.head=4", "matrices.direction=sgd");
        run = new Run(tiny.train("run", c));
        checkpoints = run.file(Run.CHECKPOINTS);
    }

    @Test
    void damageAnywhereIsRefusedAndThePreviousUsed() throws IOException {
        Path numbers = run.checkpoints().getFirst();
        try (Session session = Session.open(c)) {
            for (Path file : List.of(numbers, Checkpoint.tensorsOf(numbers))) {
                byte[] good = Files.readAllBytes(file);
                for (int at : positions(good.length)) {
                    byte[] flipped = good.clone();
                    flipped[at] ^= (byte) (1 << at % 8);
                    refused(file, flipped, session, "byte " + at + " flipped");
                    refused(file, Arrays.copyOf(good, at), session, "cut at " + at);
                }
                refused(file, Arrays.copyOf(good, good.length + 1), session, "a byte too many");
                Files.write(file, good);
            }
            assertThat(load(session, Tiny::unexpected).step()).isEqualTo(20);
        }
    }

    private Checkpoint load(Session session, Consumer<String> passedOver) {
        Snapshot snapshot = new Snapshot(session);
        return new Checkpoints(run)
                .newest(passedOver, (numbers, tensors) -> snapshot.load(numbers, tensors, passedOver));
    }

    private void refused(Path file, byte[] bytes, Session session, String what) throws IOException {
        Files.write(file, bytes);
        List<String> reasons = new ArrayList<>();
        Checkpoint used = load(session, reasons::add);
        assertThat(used.step()).as("%s: %s", file.getFileName(), what).isEqualTo(10);
        assertThat(reasons).singleElement().asString().contains("step-00000020", ".");
    }

    /** Every byte in the slow profile; else some, with both ends. */
    private static int[] positions(int length) {
        if (Boolean.getBoolean("ht.slow")) {
            return IntStream.range(0, length).toArray();
        }
        return IntStream.concat(IntStream.of(0, 1, 7, 8, 9, length - 1), new Random(3).ints(30, 0, length))
                .toArray();
    }

    /** Each was a NullPointerException: the checksum is right, since somebody has signed it. */
    @Test
    void whatWasSignedWithNulls() throws IOException {
        Path numbers = run.checkpoints().getFirst();
        String good = Files.readString(numbers);
        for (String bad : List.of(
                good.replaceFirst("\"states\":\\[.*?\\]", "\"states\":null"),
                good.replaceFirst("\"states\":\\[.*?\\]", "\"states\":[null]"),
                good.replaceFirst("\"matrix\":\"[^\"]*\"", "\"matrix\":null"),
                good.replaceFirst("\"rules\":\\{[^}]*\\}", "\"rules\":null"),
                good.replaceFirst("\"settings\":\\{[^}]*\\}", "\"settings\":null"),
                good.replaceFirst("\"training\":\\[[^]]*\\]", "\"training\":null"))) {
            assertThat(bad).isNotEqualTo(good);
            String unsigned = bad.replaceFirst("\"checksum\":\\d+", "\"checksum\":0");
            CRC32C crc = new CRC32C();
            crc.update(unsigned.getBytes());
            Files.writeString(numbers, unsigned.replace("\"checksum\":0", "\"checksum\":" + crc.getValue()));
            assertRefused(() -> Checkpoint.read(numbers), "is damaged");
        }
        assertThat(tiny.resume("run")).hasSize(1);
    }

    @Test
    void tensorsThatAreGone() throws IOException {
        Files.delete(Checkpoint.tensorsOf(run.checkpoints().getFirst()));
        assertThat(tiny.resume("run")).singleElement().asString().contains("step-00000020.safetensors", "no such file");
    }

    @Test
    void noneThatIsGood() throws IOException {
        for (Path numbers : run.checkpoints()) {
            Files.writeString(numbers, "null");
        }
        assertRefused(() -> tiny.resume("run"), "no good checkpoint among the 2");
    }

    @Test
    void damagedOnesDoNotCountAmongTheLastTwo() throws IOException {
        List<Object> whole = Tiny.result(tiny.path("run"));
        Files.delete(checkpoints.resolve("step-00000020.json"));
        for (int step : new int[] {15, 17, 18}) {
            Files.writeString(checkpoints.resolve("step-000000" + step + ".json"), "{");
        }
        Configuration often = ConfigurationFile.with(c, "checkpoint.every=2");
        assertThat(tiny.resume("run", often)).hasSize(3);
        assertThat(Tiny.result(tiny.path("run"))).isEqualTo(whole);
        assertThat(Tiny.files(checkpoints))
                .contains("step-00000018.json", "step-00000018.safetensors", "step-00000020.json")
                .noneMatch(file -> file.contains("15") || file.contains("17"));
    }

    @Test
    void theLastTwoAndTheBestAreKept() throws IOException {
        Run kept = new Run(dir.resolve("kept"));
        for (int step = 10; step <= 50; step += 10) {
            double validation = step == 20 ? 1.5 : 2;
            try (Session session = Session.open(c)) {
                new Snapshot(session)
                        .begin(kept, step, step == 30 ? null : validation, null)
                        .finish();
                new Checkpoints(kept).prune(step, 2);
            }
        }
        assertThat(Tiny.files(kept.file(Run.CHECKPOINTS)))
                .as("with their tensors")
                .hasSize(6)
                .contains("step-00000050.json", "step-00000040.json", "step-00000020.json");
    }

    @Test
    void allAreDeletedAndNothingElse() throws IOException {
        Path note = Files.writeString(checkpoints.resolve("note.txt"), "mine");
        Checkpoints all = new Checkpoints(new Run(tiny.path("run")));
        all.delete();
        assertThat(Tiny.files(checkpoints)).containsExactly("note.txt");
        Files.delete(note);
        all.delete();
        assertThat(checkpoints).doesNotExist();
    }

    @Test
    void whatAKillLeftIsTidiedAway() throws IOException {
        for (String left : List.of("step-00000005.safetensors", "step-00000007.json.part")) {
            Files.writeString(checkpoints.resolve(left), "x");
        }
        Files.delete(checkpoints.resolve("step-00000020.json"));
        tiny.resume("run");
        assertThat(Tiny.files(checkpoints))
                .hasSize(4)
                .allMatch(file -> file.matches("step-000000[12]0\\.(json|safetensors)"));
    }
}
