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
        assertThat(browser.evaluate("document.title").asString()).isEqualTo("Sweep of rate and decay");
        assertThat(browser.count("#sweep-curve circle[data-run]")).isEqualTo(11);
        assertThat(browser.count("#sweep-curve text[data-run]")).isEqualTo(1); // the failed one has no loss
        assertThat(browser.count("#sweep-map [data-cell]")).isEqualTo(12);
        assertThat(browser.count("#sweep-map .best[width]")).isEqualTo(1);
        assertThat(browser.count("#table .best")).isEqualTo(1);
        String best = browser.evaluate("document.querySelector('#table .best').closest('tr').dataset.run")
                .asString();
        assertThat(browser.evaluate("document.querySelector('#sweep-map .best[width]').parentNode.dataset.cell")
                        .asString())
                .isEqualTo(best);
        double lowest = browser.evaluate("Number(document.querySelector('#table .best').dataset.value)")
                .doubleValue();
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
        assertThat(browser.evaluate("document.getElementById('colour').value").asString())
                .isEqualTo("matrices.rate");
        assertThat(browser.evaluate("new Set([...document.querySelectorAll('#legend .key line')]"
                                + ".map(l => l.getAttribute('stroke'))).size")
                        .asInt())
                .isEqualTo(4);
        assertThat(browser.count("#legend .bar-legend")).isEqualTo(1);
        assertThat(browser.text("#table thead")).contains("rate", "decay").doesNotContain("Gap");
        browser.set("search", "rate=0.015");
        assertThat(browser.count("#table tbody tr")).isEqualTo(3);
        browser.set("search", "failed");
        assertThat(browser.count("#table tbody tr")).isEqualTo(1);
    }

    @Test
    void placebosCirclesAndEqualRuns() throws Exception {
        run("muon", "matrices.mode=base");
        run("twin", "matrices.mode=hypertransfer", "target=../muon");
        run("placebo", "matrices.mode=base", "matrices.placebo=1.1", "target=../muon");
        run("round", "target=../about");
        run("about", "target=../round");
        open();
        assertThat(browser.count("#table tbody tr")).isEqualTo(5); // runs that follow each other are not lost
        assertThat(browser.count("#transfers [data-run=placebo]")).isZero();
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
        assertThat(browser.count("#figures .figure:nth-child(1) path[data-run]"))
                .isEqualTo(4);
        browser.evaluate("document.getElementById('seeds').click()");
        Browser.waitFor("the band", () -> browser.count("#figures .figure:nth-child(1) path.band") == 1);
        assertThat(browser.count("#figures .figure:nth-child(1) path[data-run]"))
                .isEqualTo(2);
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
        assertThat(browser.evaluate("(card => card.scrollWidth - card.clientWidth)"
                                + "(document.getElementById('table').parentNode)")
                        .asInt())
                .isZero();
    }

    /** Parts of a matrix were kinds of their own, all in layer 0. */
    @Test
    void partsOfAMatrixShareItsPanel() throws Exception {
        run("whole", "model.layers=2");
        SyntheticRun heads = run("heads", "model.layers=2", "matrices.view=heads");
        assertThat(heads.matrices).hasSize(2 * (4 * 4 + 2)).contains("blocks.1.attn.o#3.weight");
        open();
        assertThat(browser.count("#kinds [data-value]")).isEqualTo(6);
        assertThat(browser.count("#multiples text.cell")).isEqualTo(12);
        assertThat(browser.count("#multiples path[data-run=whole]")).isEqualTo(12);
        assertThat(browser.count("#multiples path.band")).as("of q, k, v and o").isEqualTo(2 * 4);
        assertThat(browser.count("#heat [data-run=heads] [data-cell]")).isEqualTo(12 + 6);
        browser.evaluate("document.getElementById('apart').click()");
        assertThat(browser.count("#multiples text.cell")).isEqualTo(2 * (4 * 4 + 2));
        assertThat(browser.count("#multiples path[data-run=whole]"))
                .as("the whole matrix beside each part")
                .isEqualTo(2 * (4 * 4 + 2));
        assertThat(browser.text("#multiples")).contains("layer 1 v, head 3").doesNotContain("fc, head");
        assertThat(browser.count("#heat [data-run=heads] [data-cell]")).isEqualTo(2 * (4 * 4 + 2) + 4 * 4 + 2);
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
