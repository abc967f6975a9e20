package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import java.io.BufferedWriter;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** A log of more than 2 GB, which no array can hold: it is read as a stream, in a heap that is a tenth of it. */
@EnabledIfSystemProperty(named = "ht.slow", matches = "true")
class HugeLogTest {
    private static final long SIZE = (1L << 31) + (1 << 27);

    @TempDir
    Path directory;

    private final Ht ht = new Ht();

    @Test
    void moreThanTwoGigabytes() throws Throwable {
        Assumptions.assumeTrue(
                Files.getFileStore(directory).getUsableSpace() > 4 * SIZE, "there is no room for the log and its copy");
        Path run = directory.resolve("run");
        ht.fine("train ../runs/muon.yaml --out", run, Ht.TINY);
        Path log = run.resolve(Run.MATRICES);
        String line = Files.readAllLines(log).getFirst().replaceFirst("\"step\":0", "");
        int steps = 0;
        try (BufferedWriter out = Files.newBufferedWriter(log)) {
            for (long written = 0; written < SIZE; steps++) {
                String next = "{\"step\":" + steps + line.substring(1) + "\n";
                out.write(next);
                written += next.length();
            }
        }
        int all = steps;
        try (BufferedWriter out = Files.newBufferedWriter(run.resolve(Run.METRICS))) {
            for (int step = 0; step < all; step++) {
                String validation = "{\"step\":" + step + ",\"validation\":2.5}\n";
                out.write((step % 1000 == 0 ? validation : "") + "{\"step\":" + step
                        + ",\"loss\":2.5,\"rate\":0.01,\"adam_rate\":0.01,\"tokens\":1,\"seconds\":0.1}\n");
            }
        }
        Path config = run.resolve(Run.CONFIGURATION);
        Files.writeString(config, Files.readString(config).replace("steps: 3", "steps: " + steps));

        Path page = directory.resolve("page.html");
        time("ht report", () -> {
            try (Child child = Child.start(256, List.of("report", "" + run, "--out", "" + page))) {
                assertThat(child.end()).as(child.errors().toString()).isZero();
            }
        });
        assertThat(Files.size(page)).isLessThan(20_000_000);
        for (String again : List.of("", " again")) {
            time("ht runs" + again, () -> assertThat(ht.fine("runs", directory)).contains(all + "/" + all));
        }

        List<String> told = new ArrayList<>();
        int last = steps - 10;
        try (RunLock lock = RunLock.open(run)) {
            time("ht train cuts it", () -> lock.rewind(last, false, 6, told::add));
            assertThat(told).isEmpty();
            assertThat(Files.size(log)).isGreaterThan(1L << 31);
            assertThat(end(log)).startsWith("{\"step\":" + (last - 1) + ",").endsWith("}\n");
            try (RandomAccessFile damaged = new RandomAccessFile(log.toFile(), "rw")) {
                damaged.seek(damaged.length() - 100_000);
                damaged.write("?!".getBytes());
            }
            time("and again with a damaged line near its end", () -> lock.rewind(last, false, 6, told::add));
            assertThat(told).singleElement().asString().contains("matrices.jsonl has 1 damaged line");
            assertThat(end(log)).startsWith("{\"step\":" + (last - 1) + ",").endsWith("}\n");
        }
    }

    private static String end(Path log) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
            byte[] bytes = new byte[4096];
            file.seek(file.length() - bytes.length);
            file.readFully(bytes);
            String text = new String(bytes);
            return text.substring(text.lastIndexOf('\n', text.length() - 2) + 1);
        }
    }

    private static void time(String what, Executable work) throws Throwable {
        long begun = System.nanoTime();
        work.execute();
        System.out.printf("HugeLogTest: %s: %.1f s%n", what, (System.nanoTime() - begun) / 1e9);
    }
}
