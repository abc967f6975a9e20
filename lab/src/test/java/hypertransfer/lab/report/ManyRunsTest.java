package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** Sweeps, placebos, and runs that belong together in odd ways, in a browser. */
class ManyRunsTest {
    @TempDir
    Path folder;

    private Browser browser;

    @Test
    void aSweepHasItsOwnFigures() throws Exception {
        for (double rate : new double[] {0.005, 0.015, 0.01, 0.04}) {
            for (double decay : new double[] {0.05, 0.1, 0.2}) {
                SyntheticRun run = run("r" + rate + "-d" + decay, "matrices.rate=" + rate, "matrices.decay=" + decay);
                lower(run, rate == 0.04 && decay == 0.1 ? 0.2 : 0);
                if (rate == 0.04 && decay == 0.2) {
                    run.begin().append(8, 2).state("failed");
                }
            }
        }
        open();
        assertThat(browser.text("#title")).isEqualTo("Sweep of rate and decay");
        assertThat(browser.string("document.title")).isEqualTo("Sweep of rate and decay");
        browser.has(11, "#sweep-curve circle[data-run]");
        browser.has(1, "#sweep-curve text[data-run]"); // the failed one has no loss
        browser.has(12, "#sweep-map [data-cell]");
        browser.has(1, "#sweep-map .best[width]");
        browser.has(1, "#table .best");
        String best = browser.string("document.querySelector('#table .best').closest('tr').dataset.run");
        assertThat(browser.string("document.querySelector('#sweep-map .best[width]').parentNode.dataset.cell"))
                .isEqualTo(best);
        double lowest = browser.number("Number(document.querySelector('#table .best').dataset.value)");
        String[] at = best.substring(1).split("-d");
        assertThat(browser.text("#claim"))
                .startsWith(String.format(
                        Locale.ROOT,
                        "rate=%s, decay=%s is the best of 11 points, with a last validation loss of %.4f; the worst ends",
                        at[0],
                        at[1],
                        lowest))
                .contains(", and 1 without a loss.");
        assertThat(best).isEqualTo("r0.04-d0.1");
        assertThat(browser.text("#sweep-curve"))
                .contains("The best lies on the edge of rate: extend the grid.")
                .contains("Next: ht sweep FILE --grid matrices.rate=0.1067,0.2844");
        assertThat(browser.text("#claim")).endsWith("The best lies on the edge of the grid.");
        assertThat(browser.numbers("[...document.querySelectorAll('#table tbody [data-key=\"matrices.rate\"]')]"
                        + ".map(cell => Number(cell.textContent))"))
                .as("by value, not by name")
                .hasSize(12)
                .isSorted();
        assertThat(browser.text("#table tr[data-run='" + best + "'] th"))
                .isEqualTo("rate=" + at[0] + ", decay=" + at[1]);
        // Colours mean the rate: three runs share each, and there is a scale for them.
        assertThat(browser.string("document.getElementById('colour').value")).isEqualTo("matrices.rate");
        assertThat(browser.integer("new Set([...document.querySelectorAll('#legend .key line')]"
                        + ".map(l => l.getAttribute('stroke'))).size"))
                .isEqualTo(4);
        browser.has(1, "#legend .bar-legend");
        assertThat(browser.text("#table thead")).contains("rate", "decay").doesNotContain("Gap");
        browser.set("search", "rate=0.015");
        browser.has(3, "#table tbody tr");
        browser.set("search", "failed");
        browser.has(1, "#table tbody tr");
    }

    @Test
    void placebosCirclesAndEqualRuns() throws Exception {
        run("muon", "matrices.mode=base");
        run("twin", "matrices.mode=hypertransfer", "target=../muon");
        run("placebo", "matrices.mode=base", "matrices.placebo=1.1", "target=../muon");
        run("round", "target=../about");
        run("about", "target=../round");
        open();
        browser.has(5, "#table tbody tr"); // runs that follow each other are not lost
        browser.has(0, "#transfers [data-run=placebo]");
        assertThat(browser.text("#transfers [data-run=twin]")).contains("placebo’s largest gap");
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).contains("zero at every common step");
        assertThat(browser.text("#claim")).contains("the very losses of its target");
    }

    @Test
    void seedsBecomeOneBand() throws Exception {
        for (int seed = 1; seed <= 3; seed++) {
            run("r0-seed-" + seed, "seed=" + seed);
        }
        run("muonh", "matrices.mode=hyperball");
        open();
        browser.has(4, "#figures .figure:nth-child(1) path[data-run]");
        browser.evaluate("document.getElementById('seeds').click()");
        Browser.waitFor("the band", () -> browser.count("#figures .figure:nth-child(1) path.band") == 1);
        browser.has(2, "#figures .figure:nth-child(1) path[data-run]");
    }

    /** It was one unbroken line that pushed the table out of its card, with 16 digits. */
    @Test
    void aFailedRunsMessageFitsTheTable() throws Exception {
        SyntheticRun run = run("muon");
        Files.writeString(
                run.directory.resolve("state.json"),
                "{\"state\":\"failed\",\"step\":30,\"steps\":30,\"message\":\"the loss is 5.542863167822361"
                        + " at step 29, above " + "x".repeat(200) + "\"}");
        open();
        assertThat(browser.text("#table .message")).contains("the loss is 5.54286 at step 29");
        assertThat(browser.integer("(card => card.scrollWidth - card.clientWidth)"
                        + "(document.getElementById('table').parentNode)"))
                .isZero();
    }

    /** Parts of a matrix were kinds of their own, all in layer 0. */
    @Test
    void partsOfAMatrixShareItsPanel() throws Exception {
        run("whole", "model.layers=2");
        SyntheticRun heads = run("heads", "model.layers=2", "matrices.view=heads");
        assertThat(heads.matrices).hasSize(2 * (4 * 4 + 2)).contains("blocks.1.attn.o#3.weight");
        open();
        browser.has(6, "#kinds [data-value]");
        browser.has(12, "#multiples text.cell");
        browser.has(12, "#multiples path[data-run=whole]");
        browser.has(2 * 4, "#multiples path.band"); // of q, k, v and o
        browser.has(12 + 6, "#heat [data-run=heads] [data-cell]");
        browser.evaluate("document.getElementById('apart').click()");
        browser.has(2 * (4 * 4 + 2), "#multiples text.cell");
        browser.has(2 * (4 * 4 + 2), "#multiples path[data-run=whole]"); // the whole matrix beside each part
        assertThat(browser.text("#multiples")).contains("layer 1 v, head 3").doesNotContain("fc, head");
        browser.has(2 * (4 * 4 + 2) + 4 * 4 + 2, "#heat [data-run=heads] [data-cell]");
    }

    @Test
    void networksOfOneNameAreToldApart() throws Exception {
        run("four", "model.layers=4");
        run("two", "model.layers=2");
        open();
        assertThat(browser.evaluate("[...document.querySelectorAll('#networks button')].map(b => b.textContent)")
                        .valueStream()
                        .map(JsonNode::asString))
                .containsExactly("M1 demo, layers 4", "M1 demo, layers 2");
    }

    /** Takes so much off the validation losses. */
    private static void lower(SyntheticRun run, double by) throws IOException {
        run.metricLines.replaceAll(line -> {
            JsonNode node = JsonMapper.shared().readTree(line);
            return node.has("validation")
                    ? ((ObjectNode) node)
                            .put("validation", node.path("validation").doubleValue() - by)
                            .toString()
                    : line;
        });
        run.finished();
    }

    private SyntheticRun run(String name, String... settings) throws IOException {
        boolean sweep = name.startsWith("r0");
        String[] all = Stream.concat(Stream.of("steps=30"), Stream.of(settings)).toArray(String[]::new);
        return new SyntheticRun(folder.resolve(name), sweep ? 0.01 : 0, all).finished();
    }

    private void open() throws Exception {
        Path page = folder.resolve("report.html");
        Report.write(List.of(folder), page);
        browser = new Browser();
        browser.open(page.toUri().toString(), 1280, 6000, false);
        Browser.waitFor("the heat map", () -> browser.count("#heat [data-cell]") > 0);
    }

    @AfterEach
    void close() throws Exception {
        if (browser != null) {
            browser.close();
            assertThat(browser.console()).isEmpty();
        }
    }
}
