package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The live page in a browser, while runs are written. */
class LivePageTest {
    @TempDir
    Path folder;

    @Test
    void runsGrowAppearAndEnd() throws Exception {
        Path runs = folder.resolve("runs");
        SyntheticRun muon = new SyntheticRun(runs.resolve("muon"), 0, "steps=40").begin();
        try (Server server = Server.open(runs, 0);
                Browser browser = new Browser()) {
            browser.open("http://127.0.0.1:" + server.port() + "/", 1280, 2000, false);
            shows(browser, "muon", "steps", 0);
            for (int lines : new int[] {10, 25, muon.metricLines.size()}) {
                muon.append(lines, lines / 6);
                shows(browser, "muon", "training", SyntheticRun.last(muon.metricLines.subList(0, lines), "loss"));
                shows(
                        browser,
                        "muon",
                        "validation",
                        SyntheticRun.last(muon.metricLines.subList(0, lines), "validation"));
            }
            // A resumed run cuts its files back.
            muon.append(20, 3);
            shows(browser, "muon", "training", SyntheticRun.last(muon.metricLines.subList(0, 20), "loss"));
            muon.append(muon.metricLines.size(), muon.matrixLines.size()).state("finished");
            new SyntheticRun(runs.resolve("later"), 1e-3, "steps=40", "target=../muon").finished();
            shows(browser, "later", "steps", 40);
            Browser.waitFor(
                    "the end",
                    () -> browser.text("#table tr[data-run=muon] .badge").equals("finished"));
            assertThat(browser.text("#transfers")).contains("later", "follows", "muon");
            // A run of another network is not laid over these: it has a button of its own.
            new SyntheticRun(runs.resolve("other"), 0, "steps=40", "network=M2").finished();
            Browser.waitFor("two networks", () -> browser.text("#networks").equals("M1 demoM2 demo"));
            assertThat(browser.text("#table")).doesNotContain("other");
            browser.evaluate("document.querySelectorAll('#networks button')[1].click()");
            assertThat(browser.text("#table")).contains("other").doesNotContain("later");
            // The address keeps it, although a page that is opened has no run yet.
            browser.evaluate("window.before = true");
            browser.call("Page.reload", Map.of());
            Browser.waitFor(
                    "the chosen network",
                    () -> browser.evaluate(
                                    "!window.before && document.getElementById('table')?.textContent.includes('other')")
                            .asBoolean());
            assertThat(browser.console()).isEmpty();
        }
    }

    private static void shows(Browser browser, String run, String key, double value) throws Exception {
        String cell = "document.querySelector('#table tr[data-run=" + run + "] [data-key=" + key + "]')?.dataset.value";
        Browser.waitFor(run + "'s " + key + " " + value, () -> {
            String shown = browser.string(cell + " ?? ''");
            return !shown.isEmpty() && Double.parseDouble(shown) == value;
        });
    }
}
