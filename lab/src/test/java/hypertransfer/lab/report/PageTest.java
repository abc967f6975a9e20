package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Turning;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The report in a browser: what is on the page is what is in the files. */
class PageTest {
    private static final int STEPS = 120;

    @TempDir
    static Path folder;

    private static Browser browser;
    private static Map<String, SyntheticRun> runs;
    private static String address;

    /** All that the page shows, without what a drawing counts and what the pointer leaves behind. */
    private static final String SHOWN = "document.documentElement.dataset.theme"
            + " + document.querySelector('main')?.innerHTML.replace(/clip\\d+| class=\"\"/g, '')";

    @BeforeAll
    static void write() throws Exception {
        Assumptions.assumeTrue(
                Browser.installed().isPresent(), "no Chromium is installed, so the pages were not tested in a browser");
        runs = new TreeMap<>();
        for (SyntheticRun run : SyntheticRun.pairs(folder.resolve("runs"), STEPS)) {
            runs.put(run.directory.getFileName().toString(), run);
        }
        Path page = folder.resolve("report.html");
        Report.write(null, null, List.of(folder.resolve("runs")), page);
        address = page.toUri().toString();
        browser = new Browser();
    }

    @AfterAll
    static void close() throws Exception {
        if (browser != null) {
            browser.close();
        }
    }

    /** Loads the page, unless the test before left it as it was: a load takes longer than most tests. */
    @BeforeEach
    void open() throws Exception {
        browser.mouse("mouseMoved", 0, 0);
        browser.window(1280, 7000, false);
        settle();
        if (browser.evaluate("window.loaded === " + SHOWN).asBoolean()) {
            return;
        }
        browser.open(address, 1280, 7000, false);
        Browser.waitFor("the heat map", () -> browser.count("#heat [data-cell]") > 0);
        settle();
        browser.evaluate("loaded = " + SHOWN);
    }

    /** The page learns what is in sight, its size and the system's theme with the next frame. */
    private static void settle() throws Exception {
        browser.evaluate(
                "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))");
    }

    @AfterEach
    void nothingIsLogged() {
        assertThat(browser.console()).isEmpty();
    }

    @Test
    void theTableHasTheFilesNumbers() throws Exception {
        for (String name : runs.keySet()) {
            List<Double> validation = values(name, "validation"), all = values(name, "tokens");
            assertThat(cell(name, "steps")).isEqualTo(STEPS);
            assertThat(cell(name, "training")).isEqualTo(values(name, "loss").getLast());
            assertThat(cell(name, "validation")).isEqualTo(validation.getLast());
            double seconds =
                    values(name, "seconds").stream().skip(1).mapToDouble(v -> v).sum();
            double tokens = all.getLast() - all.getFirst();
            assertThat(cell(name, "speed")).isCloseTo(tokens / seconds, within(1e-6 * tokens / seconds));
            Turning turning = Turning.of(new Run(runs.get(name).directory));
            assertThat(cell(name, "peak")).isEqualTo(turning.peak());
            assertThat(cell(name, "mean")).isEqualTo(turning.mean());
            assertThat(cell(name, "finalToPeak")).isEqualTo(turning.finalToPeak());
            String target = Map.of("hypertransfer", "muon", "inverse", "muonh").get(name);
            if (target == null) {
                assertThat(browser.text("#table tr[data-run=" + name + "] [data-key=gap]"))
                        .isEqualTo("–");
                continue;
            }
            List<Double> gaps = minus(validation, values(target, "validation"));
            assertThat(cell(name, "gap")).isEqualTo(gaps.getLast());
            assertThat(cell(name, "largest"))
                    .isEqualTo(gaps.stream().mapToDouble(Math::abs).max().orElseThrow());
        }
    }

    @Test
    void thePointerShowsTheFilesNumbers() throws Exception {
        int step = hover(2);
        assertThat(step).isBetween(STEPS / 3, 2 * STEPS / 3);
        List<Double> shown = numbers("#tip .number");
        assertThat(shown).hasSize(8);
        List<String> order = List.of("muon", "hypertransfer", "muonh", "inverse");
        for (int i = 0; i < 4; i++) {
            assertThat(shown.get(i)).isEqualTo(values(order.get(i), "loss").get(step));
        }
        assertThat(shown.get(4)).as("the optimizers apart").isEqualTo(shown.get(2) - shown.get(0));
        assertThat(shown.get(5)).as("their transfers apart").isEqualTo(shown.get(3) - shown.get(1));
        assertThat(shown.get(6)).isEqualTo(shown.get(1) - shown.get(0));
        assertThat(shown.get(7)).isEqualTo(shown.get(3) - shown.get(2));
    }

    @Test
    void sameYMakesMatricesComparable() throws Exception {
        Browser.waitFor("every matrix", () -> browser.count("#multiples path[data-run=muon]") == 24);
        String labels = "new Set([...document.querySelectorAll('#multiples text.tick[text-anchor=end]')]"
                + ".map(text => text.textContent)).size";
        String all = "document.querySelectorAll('#multiples text.tick[text-anchor=end]').length";
        int own = browser.integer(labels);
        click("#multiples .shared");
        assertThat(browser.integer(labels)).isLessThan(own);
        assertThat(browser.integer(all) / browser.integer(labels))
                .as("every panel has the same labels")
                .isEqualTo(24);
        click("#multiples .shared");
        assertThat(browser.integer(labels)).isEqualTo(own);
    }

    @Test
    void theHeatMapHasFinalOverPeak() throws Exception {
        SyntheticRun muon = runs.get("muon");
        List<Double> rates = trees(muon.matrixLines)
                .map(line -> line.path("effective").path(8).doubleValue())
                .toList();
        double peak = rates.stream().mapToDouble(v -> v).max().orElseThrow();
        assertThat(muon.matrices.get(8)).isEqualTo("blocks.1.attn.v.weight");
        assertThat(numbers("#heat [data-run=muon] [data-cell=v1]")).containsExactly(rates.getLast() / peak);
        assertThat(browser.integer("new Set([...document.querySelectorAll('#heat [data-cell] text')]"
                        + ".map(e => e.textContent.replace(/\\d/g, '0'))).size"))
                .as("one notation")
                .isEqualTo(1);
        browser.has(48, "#heat .scale rect"); // what the colours mean
        browser.has(24 + 6, "#heat [data-run=muon] [data-cell]");
    }

    /** A dashed line over a solid one was one dull line: targets are bands now, and a pair has one hue. */
    @Test
    void theLegendTogglesARunEverywhereAndATargetIsABandUnderIt() throws Exception {
        browser.has(2 + 1, "#figures .figure:nth-child(1) path.under");
        browser.has(1, "#figures .figure:nth-child(1) path.under[data-run=muon]");
        browser.has(7, "#figures path[data-run=hypertransfer]");
        browser.has(24, "#multiples path[data-run=hypertransfer]");
        click("#legend .key[data-run=hypertransfer]");
        browser.has(0, "path[data-run=hypertransfer]");
        browser.has(0, "#heat [data-run=hypertransfer]");
        browser.has(5 + 24 + 1, "path[data-run=muon]"); // the last is the throughput
        browser.has(0, "#figures path.under[data-run=muon]"); // nothing over it
        click("#legend .key[data-run=hypertransfer]");
        browser.has(7, "#figures path[data-run=hypertransfer]");
        String only = "document.querySelector('#legend .key[data-run=inverse]').dispatchEvent("
                + "new MouseEvent('click', {altKey: true, bubbles: true}))";
        browser.evaluate(only);
        browser.has(browser.count("#figures path[data-run=inverse]"), "#figures path[data-run]");
        browser.evaluate(only);
    }

    @Test
    void theFilterPicksMatrices() throws Exception {
        click("#kinds [data-value=fc]");
        assertThat(titles()).containsExactly("layer 0 fc", "layer 1 fc", "layer 2 fc", "layer 3 fc");
        click("#layers [data-value='2']");
        assertThat(titles()).containsExactly("layer 2 fc");
        click("#kinds [data-value=q]");
        assertThat(titles()).containsExactly("layer 2 q", "layer 2 fc");
        click("#kinds [data-all]");
        click("#layers [data-all]");
        assertThat(titles()).hasSize(24);
    }

    @Test
    void zoomLogAndReset() throws Exception {
        String before = browser.text("#figures .figure:nth-child(1) svg");
        double[] box = box("#figures .figure:nth-child(1) .canvas");
        drag(box[0] + 82, box[1] + 100, box[0] + 110, box[1] + 100);
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).isNotEqualTo(before);
        // Where a line meets the edges of the picture it is inside, so no path has a point outside of it that is drawn.
        JsonNode out = browser.evaluate("""
                (() => {
                  const svg = document.querySelector('#figures .figure:nth-child(1) svg');
                  let outside = 0;
                  for (const group of svg.querySelectorAll('g[clip-path]')) {
                    const frame = svg.querySelector(group.getAttribute('clip-path').slice(4, -1) + ' rect').getBBox();
                    for (const path of group.querySelectorAll('path[data-run]')) {
                      const length = path.getTotalLength();
                      for (let i = 0; i <= 400; i++) {
                        const p = path.getPointAtLength((length * i) / 400);
                        const within = p.x >= frame.x && p.x <= frame.x + frame.width;
                        if (within && (p.y < frame.y || p.y > frame.y + frame.height)) outside++;
                      }
                    }
                  }
                  return outside;
                })()""");
        assertThat(out.intValue()).isZero();
        click("#figures .figure:nth-child(1) .reset");
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).isEqualTo(before);
        click("#figures .figure:nth-child(1) .log");
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).contains("|gap to target|");
        click("#figures .figure:nth-child(1) .log");
    }

    @Test
    void themesFollowTheSystemAndTheButton() throws Exception {
        assertThat(ground()).isEqualTo("rgb(245, 246, 248)");
        click("#theme");
        assertThat(ground()).isEqualTo("rgb(14, 18, 23)");
        browser.open(address, 390, 4000, false);
        assertThat(ground()).as("remembered").isEqualTo("rgb(14, 18, 23)");
        browser.evaluate("localStorage.clear()");
        browser.open(address, 390, 4000, true);
        assertThat(ground()).isEqualTo("rgb(14, 18, 23)");
        assertThat(browser.integer("document.documentElement.scrollWidth")).isLessThanOrEqualTo(390);
    }

    @Test
    void figuresCanBeTakenAlong() throws Exception {
        Path saved = downloads("saved");
        for (String kind : List.of("csv", "svg", "png")) {
            click("#figures .figure:nth-child(1) [data-as=" + kind + "]");
            Browser.waitFor(kind, () -> Files.exists(saved.resolve("validation-loss." + kind)));
        }
        click("#heat [data-as=csv]");
        Browser.waitFor("ratios", () -> Files.exists(saved.resolve("final-to-peak.csv")));
        var expected = new ArrayList<String>();
        for (JsonNode line : validations("muon")) {
            expected.add("loss (nats per token),muon," + line.path("step") + "," + line.path("validation"));
        }
        assertThat(Files.readAllLines(saved.resolve("validation-loss.csv")))
                .startsWith("panel,run,step,value")
                .containsSubsequence(expected);
        var svg = DocumentBuilderFactory.newInstance()
                .newDocumentBuilder()
                .parse(saved.resolve("validation-loss.svg").toFile())
                .getDocumentElement();
        assertThat(svg.getTextContent())
                .contains("Validation loss", "hypertransfer")
                .doesNotContain("var(");
        assertThat(svg.getElementsByTagName("path").getLength())
                .as("axes, losses, differences, gaps, and what joins lines with their names")
                .isEqualTo(3 + 4 + 2 + 2 + 4);
        assertThat(Files.readAllBytes(saved.resolve("validation-loss.png"))).startsWith(0x89, 'P', 'N', 'G');
        assertThat(Files.readAllLines(saved.resolve("final-to-peak.csv"))).hasSize(1 + 4 * 24);
    }

    /** Saved figures had one size, for the screen, and no PDF. */
    @Test
    void figuresHaveThePapersSize() throws Exception {
        Path saved = downloads("paper");
        browser.set("paper", "column");
        click("#figures .figure:nth-child(1) [data-as=svg]");
        click("#heat [data-as=svg]");
        Browser.waitFor(
                "figures",
                () -> Files.exists(saved.resolve("validation-loss.svg"))
                        && Files.exists(saved.resolve("final-to-peak.svg")));
        assertThat(saved.resolve("validation-loss.svg"))
                .content()
                .contains("width=\"3.300in\"", "svg.paper-size text { font-size: 8pt; }", "hypertransfer", "#ffffff")
                .doesNotContain("class=\"title\"", "var(");
        assertThat(saved.resolve("final-to-peak.svg"))
                .as("many panels take the page's width")
                .content()
                .contains("width=\"6.900in\"");
        assertThat(pages("column", 3.3)).isEqualTo(1);
        assertThat(pages("page", 6.9)).isEqualTo(1);
        browser.has(0, "#sheet *"); // nothing is left behind
        browser.set("paper", "screen");
    }

    /** What the figure's PDF button prints: as many sheets, of the figure's width. */
    private static int pages(String size, double inches) throws Exception {
        browser.set("paper", size);
        browser.evaluate("window.print = () => { kept = [document.querySelector('#sheet').firstChild.cloneNode(true),"
                + " document.adoptedStyleSheets[0], document.title]; }");
        click("#figures .figure:nth-child(1) [data-as=pdf]");
        assertThat(browser.string("kept[2]")).isEqualTo("validation-loss");
        assertThat(browser.string("document.title")).isNotEqualTo("validation-loss");
        browser.evaluate("document.querySelector('#sheet').append(kept[0]); document.adoptedStyleSheets = [kept[1]];"
                + " document.documentElement.classList.add('only-sheet')");
        String pdf = new String(
                Base64.getDecoder()
                        .decode(browser.call("Page.printToPDF", Map.of("preferCSSPageSize", true))
                                .path("data")
                                .asString()),
                StandardCharsets.ISO_8859_1);
        browser.evaluate("document.querySelector('#sheet').replaceChildren(); document.adoptedStyleSheets = [];"
                + " document.documentElement.classList.remove('only-sheet')");
        List<MatchResult> boxes = Pattern.compile("/MediaBox \\[0 0 ([0-9.]+) ([0-9.]+)]")
                .matcher(pdf)
                .results()
                .toList();
        assertThat(boxes)
                .allSatisfy(box -> assertThat(Double.parseDouble(box.group(1))).isCloseTo(72 * inches, within(1.0)));
        return boxes.size();
    }

    @Test
    void theMeanEffectiveRateIsDrawn() throws Exception {
        int step = hover(3);
        JsonNode line = trees(runs.get("muon").matrixLines)
                .filter(l -> l.path("step").intValue() == step)
                .findFirst()
                .orElseThrow();
        double mean = line.path("effective")
                .valueStream()
                .mapToDouble(JsonNode::doubleValue)
                .average()
                .orElseThrow();
        assertThat(numbers("#tip .number").getFirst()).isCloseTo(mean, within(1e-12));
    }

    @Test
    void anyRunCanBeSubtractedAndTheCrossoverIsNamed() throws Exception {
        browser.set("baseline", "muonh");
        List<Double> apart = minus(values("muon", "validation"), values("muonh", "validation"));
        int from = 0;
        for (int i = 1; i < apart.size(); i++) {
            if (apart.get(i - 1) * apart.get(i) <= 0) {
                from = validations("muon").get(i).path("step").intValue();
            }
        }
        assertThat(from).isPositive();
        assertThat(browser.text("#figures .figure:nth-child(1) svg"))
                .contains("crossover at step " + from, "minus muonh");
        browser.set("baseline", "");
    }

    @Test
    void xIsStepsTokensOrTime() throws Exception {
        browser.set("axis", "tokens");
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).contains("tokens");
        int tokens = hover(2), each = (int) runs.get("muon").configuration.tokensPerStep();
        assertThat(tokens % each).isZero();
        assertThat(numbers("#tip .number").getFirst())
                .isEqualTo(values("muon", "loss").get(tokens / each));
        browser.set("axis", "hours");
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).contains("hours of training");
        browser.set("axis", "step");
    }

    @Test
    void xIsTheAccumulatedAngle() throws Exception {
        browser.set("axis", "angle");
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).contains("accumulated angle (radians)");
        hover(2);
        double shown = Double.parseDouble(browser.text("#tip b").replaceAll("[^0-9.]", ""));
        List<Double> losses = numbers("#tip .number");
        assertThat(losses)
                .hasSize(8)
                .as("also of runs that have no point there")
                .doesNotContainNull();
        boolean found = false;
        for (String name : runs.keySet()) { // one of them has its point there
            List<Double> angles = angles(name), own = values(name, "loss");
            for (int step = 0; step < STEPS; step++) {
                found |= Math.abs(angles.get(step) - shown) < 6e-5 && losses.contains(own.get(step));
            }
        }
        assertThat(found).isTrue();
        browser.set("axis", "step");
    }

    /** The accumulated angle before each step: that of those that were logged, and a line between them. */
    private static List<Double> angles(String run) {
        Run files = new Run(runs.get(run).directory);
        Turning turning = new Turning(files.provenance().matrices().size());
        var before = new TreeMap<Integer, Double>();
        files.matrices().lines(Line.Matrices.class).forEach(line -> {
            turning.add(line);
            before.put(line.step(), turning.angleBefore());
        });
        List<Double> angles = new ArrayList<>();
        for (int step = 0; step < STEPS; step++) {
            Map.Entry<Integer, Double> low = before.floorEntry(step), high = before.ceilingEntry(step);
            double part = low.equals(high) ? 0 : (step - low.getKey()) / (double) (high.getKey() - low.getKey());
            angles.add(low.getValue() + part * (high.getValue() - low.getValue()));
        }
        return angles;
    }

    /** It showed the target's schedule, whatever the carrier did. */
    @Test
    void nominalRatesAreWhatWasApplied() throws Exception {
        int step = hover(4);
        List<Double> shown = numbers("#tip .number");
        List<String> order = List.of("muon", "hypertransfer", "muonh", "inverse");
        for (int i = 0; i < 4; i++) {
            JsonNode line = trees(runs.get(order.get(i)).matrixLines)
                    .filter(l -> l.path("step").intValue() == step)
                    .findFirst()
                    .orElseThrow();
            double mean = line.path("rate")
                    .valueStream()
                    .mapToDouble(JsonNode::doubleValue)
                    .average()
                    .orElseThrow();
            assertThat(shown.get(i)).isCloseTo(mean, within(1e-15));
        }
        assertThat(shown.get(1))
                .as("a ball applies another rate than its target")
                .isNotCloseTo(shown.get(0), within(1e-4));
    }

    /** It covered the very curve that one reads. */
    @Test
    void valuesStandBesideTheFigure() throws Exception {
        hover(1);
        double[] tip = box("#tip"),
                card = box("#figures .figure:nth-child(1)"),
                next = box("#figures .figure:nth-child(2)");
        assertThat(tip[0]).isGreaterThanOrEqualTo(card[0] + card[2]);
        assertThat(tip[0] + tip[2]).isLessThanOrEqualTo(1280);
        hover(2);
        assertThat(box("#tip")[0] + tip[2]).as("left of what stands right").isLessThanOrEqualTo(next[0]);
        browser.window(390, 4000, false);
        settle();
        hover(1);
        card = box("#figures .figure:nth-child(1)");
        assertThat(box("#tip")[1]).as("below, where no side has room").isGreaterThanOrEqualTo(card[1] + card[3]);
    }

    @Test
    void namesStandAtTheLinesEnds() throws Exception {
        String names = "[...document.querySelectorAll('#figures .figure:nth-child(1) .ends text')]";
        assertThat(browser.string(names + ".map(e => e.textContent).sort().join()"))
                .isEqualTo("hypertransfer,inverse,muon,muonh");
        List<Double> heights = browser.numbers(names + ".map(e => e.getBoundingClientRect().y).sort((a, b) => a - b)");
        for (int i = 1; i < heights.size(); i++) {
            assertThat(heights.get(i) - heights.get(i - 1)).isGreaterThanOrEqualTo(13);
        }
        assertThat(browser.number(
                        names + ".map(e => e.getBoundingClientRect().right).reduce((a, b) => Math.max(a, b))"))
                .isLessThanOrEqualTo(box("#figures .figure:nth-child(1)")[0] + box("#figures .figure:nth-child(1)")[2]);
    }

    @Test
    void everyTermIsExplained() throws Exception {
        browser.has(0, "#table thead th:not([title]), #table thead th[title='']");
        browser.has(
                0, "main .figure:has(.head) h3:not([title]), main .figure h3[title=''], #transfers dl div[title='']");
        browser.has(0, "[data-term]:not([title]), [data-term][title='']");
        assertThat(browser.text("#terms"))
                .contains("effective rate", "norm error", "accumulated angle", "final-to-peak");
        assertThat(browser.text("#claim"))
                .contains("Effective rates: muon peak 0.0198, mean 0.0108, final-to-peak 0.106; muonh peak 0.0150,");
        assertThat(browser.text("#warning")).as("rates that differ by a third").isEmpty();
        assertThat(browser.string("[...document.querySelectorAll('main .figure h3')].at(-1).textContent"))
                .isEqualTo("Throughput");
    }

    @Test
    void theFirstTabSkipsToTheContent() throws Exception {
        browser.open(address, 1280, 7000, false); // a test before may have left the focus elsewhere
        browser.evaluate("document.body.focus()");
        for (String type : List.of("keyDown", "keyUp")) {
            browser.call(
                    "Input.dispatchKeyEvent",
                    Map.of("type", type, "key", "Tab", "code", "Tab", "windowsVirtualKeyCode", 9));
        }
        assertThat(browser.string("document.activeElement.textContent")).isEqualTo("Skip to content");
        assertThat(box(".skip")[0]).as("seen where it has the focus").isPositive();
        browser.evaluate("document.activeElement.click()");
        assertThat(browser.string("document.activeElement.id")).isEqualTo("content");
        browser.evaluate("document.activeElement.blur()");
    }

    @Test
    void theAddressKeepsTheView() throws Exception {
        browser.set("axis", "tokens");
        browser.set("baseline", "muonh");
        browser.set("quantity", "norm");
        click("#figures .figure:nth-child(1) .log");
        click("#table [data-sort=validation]");
        click("#legend .key[data-run=inverse]");
        double[] box = box("#figures .figure:nth-child(2) .canvas");
        drag(box[0] + 100, box[1] + 100, box[0] + 200, box[1] + 100);
        browser.evaluate("document.querySelector('nav a[href=\"#ratios\"]').click()"); // does not take it away
        String link = browser.string("location.href"), shown = browser.string(SHOWN);
        assertThat(link)
                .contains(
                        "#",
                        "x=tokens",
                        "minus=muonh",
                        "show=norm",
                        "log=validation-loss",
                        "sort=validation",
                        "zoom=",
                        "hide=");
        browser.evaluate("window.before = true");
        browser.call("Page.reload", Map.of());
        Browser.waitFor(
                "the heat map",
                () -> browser.evaluate("!window.before && document.querySelectorAll('#heat [data-cell]').length > 0")
                        .asBoolean());
        assertThat(browser.string("location.href")).isEqualTo(link);
        settle();
        assertThat(browser.string(SHOWN)).isEqualTo(shown);
        browser.evaluate("location.hash = '#x=hours&zoom=a&hide=[&none=1'"); // what cannot be read is left out
        Browser.waitFor(
                "the other view",
                () -> browser.string("document.getElementById('axis').value").equals("hours"));
    }

    @Test
    void smoothingKeepsTheRawLineBehind() throws Exception {
        browser.has(0, "#figures .raw");
        browser.set("smooth", 4);
        browser.has(4 + 2 + 2, "#figures .figure:nth-child(2) .raw");
        browser.has(0, "#figures .figure:nth-child(1) .raw");
        browser.set("smooth", 0);
    }

    /** The first steps took 85 % of the height. */
    @Test
    void theFirstStepsDoNotSetTheRange() throws Exception {
        String top =
                "Math.max(...[...document.querySelectorAll('#figures .figure:nth-child(1) .tick[text-anchor=end]')]"
                        + ".map(e => Number(e.textContent)).filter(Number.isFinite))";
        assertThat(browser.number(top)).isLessThan(3);
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).contains("↑ to 5.5450");
        click("#focus");
        assertThat(browser.number(top)).isGreaterThan(5);
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).doesNotContain("↑ to");
        click("#focus");
    }

    @Test
    void theTableSortsFiltersAndMarksTheBest() throws Exception {
        browser.has(2, "#table .best"); // muonh and its transfer, level to the digits there
        double best = Collections.min(numbers("#table .best"));
        click("#table [data-sort=validation]");
        List<Double> up = numbers("#table [data-key=validation]");
        assertThat(up).isSorted().first().isEqualTo(best);
        click("#table [data-sort=validation]");
        assertThat(numbers("#table [data-key=validation]")).isEqualTo(up.reversed());
        click("#table [data-sort=validation]"); // as at first
        browser.set("search", "inverse");
        browser.has(1, "#table tbody tr");
        browser.has(1, "#legend .key");
        browser.set("search", "");
    }

    @Test
    void aDragUpwardsZoomsOnePanel() throws Exception {
        String other = browser.text("#figures .figure:nth-child(2) svg"),
                before = browser.text("#figures .figure:nth-child(1) svg");
        double[] box = box("#figures .figure:nth-child(1) .canvas");
        drag(box[0] + 300, box[1] + 200, box[0] + 305, box[1] + 100);
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).isNotEqualTo(before);
        assertThat(browser.text("#figures .figure:nth-child(2) svg")).isEqualTo(other);
        click("#figures .figure:nth-child(1) .reset");
        assertThat(browser.text("#figures .figure:nth-child(1) svg")).isEqualTo(before);
    }

    @Test
    void keysReadAFigure() throws Exception {
        browser.evaluate("document.querySelector('#figures .figure:nth-child(1) .canvas').focus()");
        for (int i = 0; i < 3; i++) {
            browser.evaluate("document.activeElement.dispatchEvent("
                    + "new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))");
        }
        assertThat(browser.text("#tip b")).isEqualTo("step 30");
        browser.has(0, "svg[role=img] [tabindex], svg[role=img] [role=button]");
        browser.has(1, "#legend [tabindex='0']");
        browser.evaluate("document.querySelector('#figures .figure:nth-child(1) summary').click()");
        Browser.waitFor("the values", () -> browser.count("#figures .figure:nth-child(1) .values tbody tr") == 8);
        browser.has(1, "main .figure:not(:has(.values))"); // all but the drawing of the networks
        browser.evaluate("document.querySelector('#heat summary').click()");
        Browser.waitFor("the ratios", () -> browser.count("#heat .values tbody tr") == 4 * 24);
        browser.evaluate("document.querySelector('#multiples summary').click()");
        Browser.waitFor("the matrices", () -> browser.count("#multiples .values tbody tr") == 4 * 24);
        browser.evaluate("document.querySelectorAll('details[open] summary').forEach(e => e.click())");
    }

    @Test
    void nothingIsCutOnPaper() throws Exception {
        for (int width : new int[] {1280, 700}) {
            browser.window(width, 1000, true);
            settle();
            media("print");
            browser.evaluate("dispatchEvent(new Event('beforeprint'))");
            assertThat(browser.number("[...document.querySelectorAll('main *')]"
                            + ".filter(e => e.getBoundingClientRect().width > 0 && !e.closest('[clip-path]'))"
                            + ".map(e => e.getBoundingClientRect().right - document.querySelector('main')"
                            + ".getBoundingClientRect().left).reduce((a, b) => Math.max(a, b))"))
                    .isLessThanOrEqualTo(703); // A4 without the page's margins
            assertThat(browser.number("[...document.querySelectorAll('main svg')]"
                            + ".map(e => e.getBoundingClientRect().height).reduce((a, b) => Math.max(a, b))"))
                    .as("no picture is higher than a sheet")
                    .isLessThanOrEqualTo(1030);
            browser.has(8, "#multiples svg"); // a sheet can end between any rows
            assertThat(ground()).isEqualTo("rgb(255, 255, 255)");
            browser.evaluate("dispatchEvent(new Event('afterprint'))");
            assertThat(ground()).isEqualTo("rgb(14, 18, 23)");
            media("");
        }
    }

    /** The luminance of a colour, and how far two stand apart, as WCAG 2 measures it. */
    private static final String CONTRAST = """
            (() => {
              const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
              const channels = text => text.startsWith('#') ? text.match(/\\w\\w/g).map(h => parseInt(h, 16)) : text.match(/[\\d.]+/g).slice(0, 3);
              const light = text => channels(text).map(v => v / 255)
                .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
                .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
              const ratio = ([a, b]) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            """;

    @Test
    void exportsAreLightAndLinesStandOut() throws Exception {
        for (boolean dark : new boolean[] {false, true}) {
            browser.window(1280, 7000, dark);
            settle();
            List<Double> contrasts = browser.numbers(CONTRAST + """
                      const ground = light(colour('--card'));
                      return ['solid', 'dashed'].flatMap(kind => [0, 1, 2, 3, 4, 5, 6, 7].map(i => colour(`--${kind}-${i}`)))
                        .filter(Boolean).map(line => ratio([light(line), ground]));
                    })()""");
            assertThat(contrasts).hasSize(14).allMatch(contrast -> contrast >= 3);
            assertThat(browser.numbers(CONTRAST + """
                      return [...document.querySelectorAll('#heat [data-cell]')].map(cell =>
                        ratio(['rect', 'text'].map(part => light(getComputedStyle(cell.querySelector(part)).fill))));
                    })()"""))
                    .as("numbers on their colours")
                    .hasSize(4 * (24 + 6))
                    .allMatch(contrast -> contrast >= 4.5);
            assertThat(browser.numbers(CONTRAST + """
                      return [...document.querySelectorAll('#network svg text')].map(text =>
                        ratio([light(getComputedStyle(text).fill), light('#ffffff')]));
                    })()"""))
                    .as("words of the drawing on its own ground")
                    .isNotEmpty()
                    .allMatch(contrast -> contrast >= 4.5);
        }
        Path saved = downloads("dark");
        click("#figures .figure:nth-child(1) [data-as=svg]");
        Browser.waitFor("the figure", () -> Files.exists(saved.resolve("validation-loss.svg")));
        assertThat(saved.resolve("validation-loss.svg"))
                .content()
                .contains("#ffffff")
                .doesNotContain("#161b22");
        assertThat(ground()).isEqualTo("rgb(14, 18, 23)");
    }

    @Test
    void oneStepIsDrawnToScale() throws Exception {
        Browser.waitFor("the step", () -> browser.count("#step svg circle") > 4);
        assertThat(browser.text("#step svg")).contains("to scale", "carrier", "target norm", "effective rate");
        // The distances from the origin are the norms that were logged.
        String[] norms = browser.text("#step svg")
                .replaceAll("(?s).*\\|w\\| ([0-9.]+), target norm ([0-9.]+),.*", "$1 $2")
                .split(" ");
        List<Double> far = browser.numbers("""
                (svg => {
                  const at = circle => ['cx', 'cy'].map(key => Number(circle.getAttribute(key)));
                  const [x, y] = at(svg.querySelector('.origin'));
                  return [...svg.querySelectorAll('circle[r="3.5"]')].map(at).map(([u, v]) => Math.hypot(u - x, v - y));
                })(document.querySelector('#step svg'))""");
        double carrier = Double.parseDouble(norms[0]), target = Double.parseDouble(norms[1]);
        assertThat(Math.abs(carrier / target - 1))
                .as("there is something to see")
                .isGreaterThan(1e-3);
        assertThat(far.get(1)).as("a step of the target turns it").isCloseTo(far.get(0), within(0.01));
        assertThat(far.get(2) / far.get(0)).isCloseTo(carrier / target, within(1e-3));
        browser.has(2, "#step text.halo:not(:has(~ path))"); // the carrier's dashes went through the target's norm
        assertThat(browser.count("#network rect.matrix")).isGreaterThanOrEqualTo(12);
        assertThat(browser.text("#network")).contains("attn.q.weight", "mlp.proj.weight", "head.gain", "embed.gain");
        assertThat(browser.text("#claim")).contains("muon and muonh end", "times closer");
    }

    /** The run that was left while others were filtered away stayed, instead of the one before. */
    @Test
    void oneStepIsTheSameAfterASearch() throws Exception {
        String picture = "document.querySelector('#step svg').textContent";
        Browser.waitFor("the step", () -> browser.count("#step svg circle") > 4);
        String first = browser.string(picture);
        assertThat(first).doesNotContain("muonh, ");
        browser.set("search", "muonh");
        Browser.waitFor("another step", () -> browser.string(picture).contains("muonh, "));
        browser.set("search", "");
        Browser.waitFor("the first step", () -> browser.string(picture).equals(first));
        browser.evaluate("""
                (([run, matrix, step]) => {
                  run.value = 'muon';
                  matrix.selectedIndex = 2;
                  run.dispatchEvent(new Event('input', { bubbles: true }));
                  step.value = 3;
                  step.dispatchEvent(new Event('input', { bubbles: true }));
                })(document.querySelectorAll('#geometry-choice select, #geometry-choice input'))""");
        String chosen = browser.string(picture);
        assertThat(chosen).contains("muon, ");
        browser.set("search", "inverse");
        Browser.waitFor("another step", () -> browser.string(picture).contains("inverse, "));
        browser.set("search", "");
        Browser.waitFor("the chosen step", () -> browser.string(picture).equals(chosen));
    }

    @Test
    void differencesOfConfigurationAlone() throws Exception {
        assertThat(browser.string(
                        "[...document.querySelectorAll('#settings tbody th')].map(e => e.textContent).join()"))
                .isEqualTo("matrices.mode,matrices.rate,target");
        click("#everything");
        assertThat(browser.text("#settings")).contains("adamw.beta2", "model.layers");
        click("#everything");
        assertThat(browser.text("#origin")).contains("commit", "a2c372e");
    }

    private static Stream<JsonNode> trees(List<String> lines) {
        return lines.stream().map(JsonMapper.shared()::readTree);
    }

    private static List<JsonNode> validations(String run) {
        return trees(runs.get(run).metricLines)
                .filter(line -> line.has("validation"))
                .toList();
    }

    /** What the lines of a run's metrics have that have it. */
    private static List<Double> values(String run, String key) {
        return trees(runs.get(run).metricLines)
                .filter(line -> line.has(key))
                .map(line -> line.path(key).doubleValue())
                .toList();
    }

    private static List<Double> minus(List<Double> a, List<Double> b) {
        return IntStream.range(0, a.size()).mapToObj(i -> a.get(i) - b.get(i)).toList();
    }

    /** Moves the pointer over the middle of a figure; the place along its x axis of which the values are then shown. */
    private static int hover(int figure) throws Exception {
        double[] box = box("#figures .figure:nth-child(" + figure + ") .canvas");
        browser.mouse("mouseMoved", box[0] + box[2] * 0.5, box[1] + 140);
        Browser.waitFor("the values", () -> browser.count("#tip:not([hidden])") == 1);
        return Integer.parseInt(browser.text("#tip b").replaceAll("\\D", ""));
    }

    /** Where the page's downloads come to. */
    private static Path downloads(String name) throws Exception {
        Path saved = Files.createDirectories(folder.resolve(name));
        browser.call("Browser.setDownloadBehavior", Map.of("behavior", "allow", "downloadPath", saved.toString()));
        return saved;
    }

    private static double cell(String run, String key) throws Exception {
        return numbers("#table tr[data-run=" + run + "] [data-key=" + key + "]").getFirst();
    }

    private static List<Double> numbers(String selector) throws Exception {
        return browser.numbers(
                "[...document.querySelectorAll(\"" + selector + "\")].map(e => Number(e.dataset.value))");
    }

    private static List<String> titles() throws Exception {
        return browser.evaluate("[...document.querySelectorAll('#multiples text.cell')].map(e => e.textContent)")
                .valueStream()
                .map(JsonNode::asString)
                .toList();
    }

    private static String ground() throws Exception {
        return browser.string("getComputedStyle(document.body).backgroundColor");
    }

    private static void media(String media) throws Exception {
        List<?> dark = List.of(Map.of("name", "prefers-color-scheme", "value", "dark"));
        browser.call("Emulation.setEmulatedMedia", Map.of("media", media, "features", dark));
    }

    private static void drag(double x, double y, double toX, double toY) throws Exception {
        browser.mouse("mouseMoved", x, y);
        browser.mouse("mousePressed", x, y);
        browser.mouse("mouseMoved", (x + toX) / 2, (y + toY) / 2);
        browser.mouse("mouseMoved", toX, toY);
        browser.mouse("mouseReleased", toX, toY);
        browser.evaluate("new Promise(done => setTimeout(done, 20))"); // a click that ends a drag is swallowed
    }

    /** A real click, where the element is. */
    private static void click(String selector) throws Exception {
        double[] box = box(selector);
        double x = box[0] + box[2] / 2, y = box[1] + box[3] / 2;
        browser.mouse("mouseMoved", x, y);
        browser.mouse("mousePressed", x, y);
        browser.mouse("mouseReleased", x, y);
    }

    private static double[] box(String selector) throws Exception {
        return browser
                .numbers("(b => [b.x, b.y, b.width, b.height])(document.querySelector(\"" + selector
                        + "\").getBoundingClientRect())")
                .stream()
                .mapToDouble(v -> v)
                .toArray();
    }
}
