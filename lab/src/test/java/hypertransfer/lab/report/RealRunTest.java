package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.Ht;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** The report of runs that the trainer wrote, in a browser. */
class RealRunTest {
    private static final String TINY = """
            engine: reference
            network: M2
            steps: 6
            model: {layers: 2, width: 16, head: 8, sequence: 16, batch: 2}
            validation: {every: 2, batches: 1}
            """;

    private final Ht ht = new Ht();

    @TempDir
    Path folder;

    /** An archive may keep some curves only; the step was drawn from the figure's corner. */
    @Test
    void aLogWithoutAngles() throws Exception {
        Path run = folder.resolve("run"), log = run.resolve("matrices.jsonl"), page = folder.resolve("report.html");
        ht.fine("train", Files.writeString(folder.resolve("tiny.yaml"), TINY), "--out", run);
        Files.writeString(
                log,
                Pattern.compile("\"angle\":\\[[^]]*]")
                        .matcher(Files.readString(log))
                        .replaceAll(found -> found.group().replaceAll("(?<=[\\[,])[^],]+", "null")));
        ht.fine("report", run, "--out", page);
        try (Browser browser = new Browser()) {
            browser.open(page.toUri().toString(), 1280, 3500, false);
            assertThat(browser.text("#geometry svg")).contains("no angle of a step is logged");
        }
    }

    @Test
    void aRunAndItsTwin() throws Exception {
        Path muon = folder.resolve("muon"), twin = folder.resolve("twin"), page = folder.resolve("report.html");
        Path tiny = Files.writeString(folder.resolve("tiny.yaml"), TINY);
        ht.fine("train", tiny, "--out", muon);
        ht.fine("transfer", muon, "--mode hypertransfer-plus --out", twin);
        ht.fine("report", twin, "--out", page);
        try (Browser browser = new Browser()) {
            browser.open(page.toUri().toString(), 1280, 3500, false);
            for (Path run : List.of(muon, twin)) {
                assertThat(cell(browser, run, "training")).isEqualTo(last(run, "loss"));
                assertThat(cell(browser, run, "validation")).isEqualTo(last(run, "validation"));
                assertThat(cell(browser, run, "steps")).isEqualTo(6);
                Browser.waitFor(
                        "the heat map",
                        () -> browser.count("#heat [data-run=" + run.getFileName() + "] [data-cell]") == 12 + 6);
            }
            assertThat(cell(browser, twin, "gap")).isEqualTo(last(twin, "validation") - last(muon, "validation"));
            browser.has(12, "#multiples text.cell");
            assertThat(browser.evaluate("document.querySelector('#standings').hidden")
                            .asBoolean())
                    .isTrue();
            assertThat(browser.text("#transfers")).contains("largest angle", "of momenta");
            assertThat(browser.text("#figures > :last-child svg")).contains("carrier minus evaluated");
            browser.evaluate("quantity = document.querySelector('#quantity'); quantity.value = 'radial';"
                    + " quantity.dispatchEvent(new Event('change'))");
            assertThat(browser.text("#multiples")).contains("radial part of the gradient");
            assertThat(browser.integer("[...document.querySelectorAll('#multiples path')]"
                            + ".filter(path => path.getAttribute('d')?.includes('L')).length"))
                    .as(
                            "lines between the steps at which it was measured, the first and the last, of 12 matrices in 2 runs")
                    .isGreaterThanOrEqualTo(24);
            browser.evaluate("document.querySelector('#legend [data-run=twin]').click()");
            assertThat(browser.evaluate("document.querySelector('#figures > :last-child').hidden")
                            .asBoolean())
                    .as("no run that is shown has two scales")
                    .isTrue();
            assertThat(browser.console()).isEmpty();
        }
    }

    /** Ranks at their own rates beside ranks at equal ones, in a browser, wide, narrow and dark. */
    @Test
    void standings() throws Exception {
        Path file = Files.writeString(folder.resolve("small.yaml"), """
                title: A small arena
                seeds: 2
                settings: [engine=reference, network=M2, matrices.gradient=mode, steps=6, validation.every=2, model.layers=1,
                  model.width=8, model.head=4, model.sequence=8, model.batch=2, validation.batches=1]
                runs:
                  muon: {settings: [matrices.rate=0.02|0.08]}
                  adam: {settings: [matrices.direction=adam, matrices.rate=0.001]}
                  lion: {settings: [matrices.direction=lion, matrices.rate=0.01]}
                again:
                  equal: {recorded_of: muon, settings: [matrices.mode=fair]}
                presets: {demo: {}}
                """);
        Path out = folder.resolve("out");
        JsonNode rows = ht.json("reproduce", file, "--out", out).at("/parts/1/rows");
        String address = out.resolve("report.html").toUri().toString();
        try (Browser browser = new Browser()) {
            browser.open(address, 1280, 3500, false);
            browser.has(6, "#standing [data-row]");
            browser.has(3, "#standing svg > path"); // from the place in one panel to the place in the other
            assertThat(browser.text("#standing"))
                    .contains("each at its own rates", "each at the effective rates of muon");
            String equal = "[...document.querySelectorAll('#standing svg > g:nth-of-type(2) [data-row]')]";
            assertThat(browser.string(equal + ".map(row => row.dataset.row).join(' ')"))
                    .isEqualTo(String.join(" ", rows.findValuesAsString("run")));
            assertThat(browser.string(equal + ".map(row => row.querySelector('.tick').textContent).join(' ')"))
                    .isEqualTo("1 2 3");
            assertThat(browser.string("document.querySelector('#axis').value")).isEqualTo("angle");
            assertThat(browser.text("#rows")).contains("own: validation loss", "equal: validation loss");
            assertThat(browser.count("#legend [data-run]"))
                    .as("seeds are one side")
                    .isEqualTo(5);
            for (boolean dark : new boolean[] {false, true}) {
                browser.open(address, 390, 4000, dark);
                browser.has(6, "#standing [data-row]");
                browser.has(0, "#standing svg > path");
                assertThat(browser.integer("document.documentElement.scrollWidth"))
                        .isLessThanOrEqualTo(390);
            }
            assertThat(browser.console()).isEmpty();
        }
    }

    private static double cell(Browser browser, Path run, String key) throws Exception {
        return Double.parseDouble(browser.string("document.querySelector('#table tr[data-run=" + run.getFileName()
                + "] [data-key=" + key + "]').dataset.value"));
    }

    private static double last(Path run, String key) throws IOException {
        return SyntheticRun.last(Files.readAllLines(run.resolve("metrics.jsonl")), key);
    }
}
