package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.json.JsonMapper;

/** The live page in a browser, while runs are written. */
class LivePageTest {
    @TempDir
    Path folder;

    @Test
    void runsGrowAppearAndEnd() throws Exception {
        Assumptions.assumeTrue(
                Browser.installed().isPresent(),
                "no Chromium is installed, so the live page was not tested in a browser");
        Path runs = folder.resolve("runs");
        SyntheticRun muon = new SyntheticRun(runs.resolve("muon"), 0, "steps=40").begin();
        try (Server server = Server.open(runs, 0);
                Browser browser = new Browser()) {
            browser.open("http://127.0.0.1:" + server.port() + "/", 1280, 2000, false);
            shows(browser, "muon", "steps", 0);
            for (int lines : new int[] {10, 25, muon.metricLines.size()}) {
                muon.append(lines, lines / 6);
                shows(browser, "muon", "training", last(muon, lines, "loss"));
                shows(browser, "muon", "validation", last(muon, lines, "validation"));
            }
            // A resumed run cuts its files back.
            muon.append(20, 3);
            shows(browser, "muon", "training", last(muon, 20, "loss"));
            muon.append(muon.metricLines.size(), muon.matrixLines.size()).state("finished");
            new SyntheticRun(runs.resolve("later"), 1e-3, "steps=40", "target=../muon").finished();
            shows(browser, "later", "steps", 40);
            Browser.waitFor(
                    "the end",
                    () -> text(browser, "#table tr[data-run=muon] .badge").equals("finished"));
            assertThat(text(browser, "#transfers")).contains("later", "follows", "muon");
            // A run of another network is not laid over these: it has a button of its own.
            new SyntheticRun(runs.resolve("other"), 0, "steps=40", "network=M2").finished();
            Browser.waitFor("two networks", () -> text(browser, "#networks").equals("M1 demoM2 demo"));
            assertThat(text(browser, "#table")).doesNotContain("other");
            browser.evaluate("document.querySelectorAll('#networks button')[1].click()");
            assertThat(text(browser, "#table")).contains("other").doesNotContain("later");
            assertThat(browser.console()).isEmpty();
        }
    }

    private static void shows(Browser browser, String run, String key, double value) throws Exception {
        String cell = "document.querySelector('#table tr[data-run=" + run + "] [data-key=" + key + "]')?.dataset.value";
        Browser.waitFor(run + "'s " + key + " " + value, () -> {
            String shown = browser.evaluate(cell + " ?? ''").asString();
            return !shown.isEmpty() && Double.parseDouble(shown) == value;
        });
    }

    private static double last(SyntheticRun run, int lines, String key) {
        return run.metricLines.subList(0, lines).stream()
                .map(JsonMapper.shared()::readTree)
                .filter(line -> line.has(key))
                .toList()
                .getLast()
                .path(key)
                .doubleValue();
    }

    private static String text(Browser browser, String selector) throws Exception {
        return browser.evaluate("document.querySelector(\"" + selector + "\").textContent")
                .asString();
    }
}
