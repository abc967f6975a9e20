package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.log.Line.Matrices;
import hypertransfer.train.log.Run;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.FloatBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Long runs and many: the page stays small and opens quickly, and no spike is lost. */
class LongRunTest {
    private static final JsonMapper JSON = JsonMapper.shared();

    @TempDir
    Path folder;

    @Test
    void aThinnedSeriesKeepsExtremesEndsAndCommonSteps() {
        var random = new Random(5);
        for (int length : new int[] {1, 7, 100, 101, 4321}) {
            var thinned = new Thinned<double[]>(100, p -> (int) p[0], p -> p[1]);
            var other = new Thinned<double[]>(100, p -> (int) p[0], p -> p[1]);
            var all = new TreeMap<Integer, Double>();
            for (int step = 0; step < length; step++) {
                double value = step % 97 == 5 ? Double.NaN : random.nextGaussian();
                all.put(step, value);
                thinned.add(new double[] {step, value});
                other.add(new double[] {step, random.nextGaussian()});
            }
            List<double[]> kept = List.copyOf(thinned.lines());
            assertThat(kept).hasSizeLessThanOrEqualTo(Math.min(length, 301));
            assertThat(kept).allMatch(p -> Double.compare(all.get((int) p[0]), p[1]) == 0);
            assertThat(kept).extracting(p -> p[0]).isSorted().contains(0.0, length - 1.0);
            assertThat(thinned.thin()).isEqualTo(length > 100);
            if (length <= 100) {
                assertThat(kept).hasSize(length);
            }
            double largest = all.values().stream().filter(Double::isFinite).reduce(-9.0, Math::max);
            double smallest = all.values().stream().filter(Double::isFinite).reduce(9.0, Math::min);
            assertThat(kept).extracting(p -> p[1]).contains(largest, smallest);
            long common = other.lines().stream()
                    .filter(p -> kept.stream().anyMatch(q -> q[0] == p[0]))
                    .count();
            assertThat(common).isGreaterThanOrEqualTo(Math.min(length, 50));
        }
    }

    @Test
    void bandsHoldEveryValue() {
        var random = new Random(6);
        var bands = new Bands(50);
        var all = new ArrayList<double[]>();
        for (int step = 0; step < 777; step++) {
            double[] values =
                    DoubleStream.generate(random::nextGaussian).limit(3).toArray();
            all.add(values);
            bands.add(new Matrices(10 * step, values, values, values, values, values, values, values, values), step);
        }
        ObjectNode node = JSON.createObjectNode();
        bands.write(node);
        int rows = node.path("step").size();
        assertThat(rows).isBetween(25, 52);
        FloatBuffer first = MessagesTest.floats(node.path("norm"));
        FloatBuffer low = MessagesTest.floats(node.path("low").path("angle"));
        FloatBuffer high = MessagesTest.floats(node.path("high").path("rate"));
        for (int r = 0; r < rows; r++) {
            int from = node.path("step").path(r).intValue() / 10;
            int to = r + 1 < rows ? node.path("step").path(r + 1).intValue() / 10 : all.size();
            for (int m = 0; m < 3; m++) {
                int k = m;
                double[] inside =
                        all.subList(from, to).stream().mapToDouble(v -> v[k]).toArray();
                assertThat(first.get(3 * r + m)).isEqualTo((float) inside[0]);
                if (r < rows - 2) { // the last line is a row of its own and may also be in the band before it
                    assertThat(low.get(3 * r + m))
                            .isEqualTo((float) Arrays.stream(inside).min().orElseThrow());
                    assertThat(high.get(3 * r + m))
                            .isEqualTo((float) Arrays.stream(inside).max().orElseThrow());
                }
            }
        }
    }

    @Test
    void aLongRunAndItsFollower() throws Exception {
        write("muon", 30_000, 2, 50, null, 0);
        write("hypertransfer", 30_000, 2, 50, "../muon", 1e-6);
        page(3_000_000, Long.MAX_VALUE); // time is asked for in the slow profile only
    }

    /** A million steps of two hundred matrices; one run of the paper's length, and forty. */
    @ParameterizedTest
    @CsvSource({"1, 1000000, 200, 100", "1, 5723, 72, 1", "40, 5723, 72, 10"})
    @EnabledIfSystemProperty(named = "ht.slow", matches = "true")
    void longRuns(int runs, int steps, int matrices, int every) throws Exception {
        for (int i = 0; i < runs; i++) {
            write("run-" + i, steps, matrices, every, null, i * 1e-3);
        }
        page(20_000_000, 3_000);
    }

    /** What {@code ht watch} sends of it first, and how long a browser takes until it shows a curve. */
    @Test
    @EnabledIfSystemProperty(named = "ht.slow", matches = "true")
    void theLivePageOfAMillionSteps() throws Exception {
        write("muon", 1_000_000, 200, 100, null, 0);
        long sent = new Messages("muon", null, new Run(folder.resolve("muon")), 1)
                .read().stream().mapToLong(String::length).sum();
        assertThat(sent).isLessThan(20_000_000);
        try (Server server = Server.open(folder, 0);
                Browser browser = new Browser()) {
            long took = untilACurve(browser, "http://127.0.0.1:" + server.port() + "/");
            System.out.printf("ht watch: %,d bytes, %d ms until a curve%n", sent, took);
            assertThat(took).isLessThan(3_000);
            assertThat(browser.console()).isEmpty();
        }
    }

    /** Opens a page and waits for a curve; the milliseconds that took. */
    private static long untilACurve(Browser browser, String page) throws Exception {
        long start = System.nanoTime();
        browser.open(page, 1280, 1000, false);
        Browser.waitFor(
                "a curve",
                () -> browser.evaluate(
                                "[...document.querySelectorAll('#figures path[data-run]')].some(p => p.getAttribute('d')?.length > 500)")
                        .asBoolean());
        return (System.nanoTime() - start) / 1_000_000;
    }

    /** The page's size, the time until it shows something, and the largest difference and loss, which one step has. */
    private void page(long most, long milliseconds) throws Exception {
        Path page = folder.resolve("report.html");
        Report report = Report.write(null, null, List.of(folder), page);
        assertThat(report.skipped()).isEmpty();
        assertThat(Files.size(page)).isLessThan(most);
        try (Browser browser = new Browser()) {
            long took = untilACurve(browser, page.toUri().toString());
            System.out.printf("%d runs, %,d bytes, %d ms%n", report.names().size(), Files.size(page), took);
            assertThat(took).isLessThan(milliseconds);
            if (report.names().contains("hypertransfer")) {
                Path own = folder.resolve("hypertransfer");
                assertThat(new Run(own).target()).isPresent();
                JsonNode spike = browser.evaluate("""
                        (() => {
                          document.querySelector('#figures .figure:nth-child(2) summary').click();
                          return new Promise(done => setTimeout(() => done(
                            document.querySelector('#figures .figure:nth-child(2) .values').textContent), 300));
                        })()""");
                assertThat(spike.asString()).contains("77.0000").contains("+0.50000");
            }
            assertThat(browser.console()).isEmpty();
        }
    }

    /** A run's directory, with one spike in one step. */
    private void write(String name, int steps, int matrices, int every, String target, double shift)
            throws IOException {
        Path directory = folder.resolve(name);
        new SyntheticRun(directory, 0, "steps=2").begin();
        String configuration = "network: M1\npreset: demo\nsteps: " + steps + "\nmatrices: {mode: base, rate: "
                + (0.01 + shift) + "}\n";
        Files.writeString(
                directory.resolve("config.yaml"), configuration + (target == null ? "" : "target: " + target + "\n"));
        ObjectNode provenance = (ObjectNode) JSON.readTree(Files.readString(directory.resolve("provenance.json")));
        provenance.set(
                "matrices",
                JSON.valueToTree(IntStream.range(0, matrices)
                        .mapToObj(m -> "blocks." + m / 6 + "."
                                + List.of("attn.q", "attn.k", "attn.v", "attn.o", "mlp.fc", "mlp.proj")
                                        .get(m % 6) + ".weight")
                        .toList()));
        Files.writeString(directory.resolve("provenance.json"), provenance.toString());
        var random = new Random(3);
        String[] numbers = new String[1009];
        Arrays.setAll(numbers, i -> Double.toString(0.01 * (1 + random.nextDouble())));
        try (BufferedWriter metrics = Files.newBufferedWriter(directory.resolve("metrics.jsonl"));
                BufferedWriter logged = Files.newBufferedWriter(directory.resolve("matrices.jsonl"))) {
            for (int t = 0; t < steps; t++) {
                double loss = 1.5 + 4 / (1 + 0.01 * t) + 0.05 * random.nextGaussian();
                double off = target != null && t == steps / 3 ? 0.5 : shift;
                metrics.write("{\"step\":" + t + ",\"loss\":" + (t == steps / 2 ? 77 : loss + off)
                        + ",\"rate\":0.01,\"adam_rate\":0.01,\"tokens\":" + 2048L * (t + 1) + ",\"seconds\":0.05}\n");
                if (t % 1000 == 0) {
                    metrics.write("{\"step\":" + t + ",\"validation\":" + (loss + shift) + "}\n");
                }
                if (t % every == 0) {
                    logged.write("{\"step\":" + t);
                    for (String key : "norm target_norm rate effective angle implied_decay".split(" ")) {
                        logged.write(",\"" + key + "\":[");
                        for (int m = 0; m < matrices; m++) {
                            logged.write(
                                    (m > 0 ? "," : "") + numbers[(t * 31 + m * 7 + key.length()) % numbers.length]);
                        }
                        logged.write("]");
                    }
                    logged.write("}\n");
                }
            }
        }
        Files.writeString(
                directory.resolve("state.json"),
                "{\"state\":\"finished\",\"step\":" + steps + ",\"steps\":" + steps + "}");
    }
}
