package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.command.ReportCommand;
import hypertransfer.lab.command.TrainCommand;
import hypertransfer.lab.command.TransferCommand;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;
import tools.jackson.databind.json.JsonMapper;

/** The report of runs that the trainer wrote, in a browser. */
class RealRunTest {
    private static final String TINY = """
            engine: reference
            network: M2
            steps: 6
            model: {layers: 2, width: 16, head: 8, sequence: 16, batch: 2}
            validation: {every: 2, batches: 1}
            """;

    @TempDir
    Path folder;

    @Test
    void aRunAndItsTwin() throws Exception {
        Assumptions.assumeTrue(
                Browser.installed().isPresent(), "no Chromium is installed, so the report was not tested in a browser");
        Path muon = folder.resolve("muon"), twin = folder.resolve("twin"), page = folder.resolve("report.html");
        Path tiny = Files.writeString(folder.resolve("tiny.yaml"), TINY);
        ht(new TrainCommand(), tiny.toString(), "--out", muon.toString());
        ht(new TransferCommand(), muon.toString(), "--mode", "hypertransfer-plus", "--out", twin.toString());
        ht(new ReportCommand(), twin.toString(), "--out", page.toString());
        try (Browser browser = new Browser()) {
            browser.open(page.toUri().toString(), 1280, 3500, false);
            for (Path run : List.of(muon, twin)) {
                assertThat(cell(browser, run, "training")).isEqualTo(last(run, "loss"));
                assertThat(cell(browser, run, "validation")).isEqualTo(last(run, "validation"));
                assertThat(cell(browser, run, "steps")).isEqualTo(6);
                Browser.waitFor("the heat map", () -> cells(browser, run) == 12 + 6);
            }
            assertThat(cell(browser, twin, "gap")).isEqualTo(last(twin, "validation") - last(muon, "validation"));
            assertThat(browser.evaluate("document.querySelectorAll('#multiples text.cell').length")
                            .asInt())
                    .isEqualTo(12);
            assertThat(text(browser, "#transfers")).contains("largest angle", "of momenta");
            assertThat(text(browser, "#figures > :last-child svg")).contains("carrier minus evaluated");
            browser.evaluate("quantity = document.querySelector('#quantity'); quantity.value = 'radial';"
                    + " quantity.dispatchEvent(new Event('change'))");
            assertThat(text(browser, "#multiples")).contains("radial part of the gradient");
            assertThat(browser.evaluate("[...document.querySelectorAll('#multiples path')]"
                                    + ".filter(path => path.getAttribute('d')?.includes('L')).length")
                            .asInt())
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

    private static String text(Browser browser, String selector) throws Exception {
        return browser.evaluate("document.querySelector('" + selector + "').textContent")
                .asString();
    }

    private static void ht(Object command, String... args) {
        var said = new StringWriter();
        var out = new PrintWriter(said, true);
        assertThat(new CommandLine(command).setOut(out).setErr(out).execute(args))
                .as(said::toString)
                .isZero();
    }

    private static double cell(Browser browser, Path run, String key) throws Exception {
        return Double.parseDouble(browser.evaluate("document.querySelector('#table tr[data-run=" + run.getFileName()
                        + "] [data-key=" + key + "]').dataset.value")
                .asString());
    }

    private static int cells(Browser browser, Path run) throws Exception {
        return browser.evaluate(
                        "document.querySelectorAll('#heat [data-run=" + run.getFileName() + "] [data-cell]').length")
                .asInt();
    }

    private static double last(Path run, String key) throws IOException {
        return Files.readAllLines(run.resolve("metrics.jsonl")).stream()
                .map(JsonMapper.shared()::readTree)
                .filter(line -> line.has(key))
                .toList()
                .getLast()
                .path(key)
                .doubleValue();
    }
}
