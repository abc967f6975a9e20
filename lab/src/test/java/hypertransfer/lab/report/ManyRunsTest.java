package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.Ht;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
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
                .contains("Next: ht sweep " + where("r0.04-d0.1") + "/config.yaml --grid")
                .contains("matrices.rate=0.1067,0.2844"); // on a line of its own

        assertThat(browser.text("#claim"))
                .contains("The best lies on the edge of the grid. Its effective rate: peak 0.0");
        assertThat(values("#table tbody [data-key=validation]")).hasSize(12).isSorted();
        assertThat(browser.text("#warning"))
                .as("a sweep is there to compare rates")
                .isEmpty();
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

    /** A shell took the bar of a group's pattern for a pipe. */
    @Test
    void theNextCommandOfASweepIsQuoted() throws Exception {
        for (double rate : new double[] {0.005, 0.01, 0.02, 0.04}) {
            for (double decay : new double[] {0.05, 0.1, 0.2}) {
                SyntheticRun run = run(
                        "r" + rate + "-d" + decay,
                        "matrices.groups.fc|o.rate=" + rate,
                        "matrices.groups.fc|o.decay=" + decay);
                lower(run, rate == 0.04 && decay == 0.1 ? 0.2 : 0);
            }
        }
        open();
        assertThat(browser.text("#sweep-curve")).contains("'matrices.groups.fc|o.rate'=0.08,0.16");
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
        assertThat(browser.text("#claim")).contains("has exactly its target’s loss at every validation");
    }

    /** As of ht reproduce decay: began with a small letter. */
    @Test
    void transfersOnly() throws Exception {
        run("muon", "matrices.mode=base");
        run("twin", "matrices.mode=hypertransfer", "target=../muon");
        run("other", "matrices.mode=hypertransfer-plus", "target=../muon");
        open();
        assertThat(browser.text("#claim")).startsWith("Each transfer has exactly its target’s loss");
    }

    /** Each seed was a line of its own with the next free colour, and the luckiest was called the best. */
    @Test
    void seedsAreOneSide() throws Exception {
        double[] apart = {0.3, 0.2, 0.4};
        for (int seed = 1; seed <= 3; seed++) {
            run("seed-" + seed + "/muon", "seed=" + seed, "matrices.rate=0.02");
            lower(
                    run("seed-" + seed + "/lion", "seed=" + seed, "matrices.rate=0.08", "matrices.direction=lion"),
                    apart[seed - 1] + 0.1 * seed);
            String measured = "matrices.final_ratio=0.000" + seed; // as an experiment with ratio_of has it
            lower(run("seed-" + seed + "/sgd", "seed=" + seed, "matrices.direction=sgd", measured), -1);
        }
        open();
        browser.has(3, "#figures .figure:nth-child(1) path[data-run]");
        browser.has(3, "#figures .figure:nth-child(1) path.band");
        browser.has(3, "#multiples g[clip-path]:first-of-type path.band");
        browser.has(3, "#heat [data-run]");
        assertThat(legend()).isEqualTo("lion (3 seeds),muon (3 seeds),sgd (3 seeds)");
        assertThat(values("#table tbody [data-key=validation]")).hasSize(3).isSorted();
        // 0.4, 0.4 and 0.7: their mean, and 4.303 of its standard errors
        double half = 4.302652729749464 * Math.sqrt(0.03) / Math.sqrt(3);
        assertThat(browser.text("#claim"))
                .contains("lion (3 seeds) ends lowest, at ", " ± ", "the means are up to")
                .contains(String.format(
                        Locale.ROOT,
                        "next muon (3 seeds), 0.50000 above it (95\u00a0%% interval +%.5f to +%.5f, 3 common seeds)",
                        0.5 - half,
                        0.5 + half));
        assertThat(browser.text("#table tr[data-run$=lion] [data-key=validation]"))
                .contains("★", "±");
        assertThat(browser.text("#warning"))
                .contains("These runs turn their matrices at rates that differ 7.4-fold")
                .contains("they compare rates as well as optimizers. “ht fair " + where("seed-1/sgd") + " "
                        + where("seed-1/lion") + "” trains them at the same effective rates.");
        List<String> colours = List.of(colour("lion"), colour("muon"), colour("sgd"));
        browser.evaluate("document.querySelector('#legend .key').click()"); // hides all three seeds
        browser.has(2, "#figures .figure:nth-child(1) path[data-run]");
        browser.evaluate("document.querySelector('#legend .key').click()");
        browser.evaluate("document.getElementById('seeds').click()");
        browser.has(9, "#figures .figure:nth-child(1) path[data-run]");
        browser.has(9, "#table tbody tr");
        assertThat(List.of(colour("lion"), colour("muon"), colour("sgd")))
                .as("colours are the optimizers'")
                .isEqualTo(colours)
                .doesNotHaveDuplicates();
        browser.has(3, "#legend [data-run$=lion] line[stroke='" + colour("lion") + "']");
    }

    private String legend() throws Exception {
        return browser.string("[...document.querySelectorAll('#legend .key')].map(e => e.textContent).join()");
    }

    private String colour(String optimizer) throws Exception {
        return browser.string(
                "document.querySelector('#legend [data-run$=" + optimizer + "] line').getAttribute('stroke')");
    }

    /** The seeds of before were a side of their own, and titles said "proxy_rate=undefined". */
    @Test
    void runsOfAnEarlierVersionHaveTheDefaultsOfLaterKeys() throws Exception {
        for (int seed = 1; seed <= 3; seed++) {
            run("muon-seed" + seed, "seed=" + seed);
            run("muonh-seed" + seed, "seed=" + seed, "matrices.mode=hyperball");
        }
        for (String name : List.of("muon-seed1", "muonh-seed1")) {
            Path file = folder.resolve(name).resolve("config.yaml");
            List<String> lines = Files.readAllLines(file),
                    old =
                            lines.stream()
                                    .filter(line -> !line.matches("  (proxy_rate|precision|policy|head_rate): .*"))
                                    .toList();
            assertThat(old).hasSize(lines.size() - 4);
            Files.write(file, old);
        }
        open();
        assertThat(legend()).isEqualTo("muon (3 seeds),muonh (3 seeds)");
        assertThat(browser.string("document.body.innerText")).doesNotContain("undefined");
    }

    /** The longest runs were the best points; ticks, the legend on a phone and titles of maps were drawn over others or cut. */
    @Test
    void aSweepIsOfOneLength() throws Exception {
        for (int steps : new int[] {30, 60}) {
            for (String rate : List.of("0.01", "0.0101", "0.02", "0.04")) {
                boolean best = rate.equals("0.02");
                lower(
                        run(
                                steps + "-" + rate,
                                "steps=" + steps,
                                "matrices.rate=" + rate,
                                "adamw.rate=" + (rate.equals("0.0101") ? 0.001234 : 0.01),
                                "matrices.decay=" + (best ? 0.1234 : 0.1)),
                        steps / 100.0 + (best ? 0.1 : 0));
            }
        }
        open();
        assertThat(browser.text("#claim").split("\n"))
                .hasSize(2)
                .allMatch(line -> line.contains("matrices.rate=0.02") && line.contains(" is the best of 4 points"))
                .allMatch(line -> line.startsWith("steps=30: ") || line.startsWith("steps=60: "));
        for (int width : new int[] {1280, 390}) {
            browser.window(width, 6000, false);
            assertThat(browser.text("#sweep-curve")).contains("0.02", "0.04");
            for (String words : List.of("#sweep-curve .tick", "#heat .cell")) {
                String texts = "[...document.querySelectorAll('" + words + "')].map(e => e.getBoundingClientRect())";
                assertThat(browser.integer(texts + ".filter((a, i, all) => all.some((b, k) => k > i && a.left < b.right"
                                + " && b.left < a.right && a.top < b.bottom - 2 && b.top < a.bottom - 2)).length"))
                        .as("%s over each other at %d pixels", words, width)
                        .isZero();
                assertThat(browser.integer(texts + ".filter(a => a.right > document.querySelector('"
                                + words.split(" ")[0] + " svg').getBoundingClientRect().right).length"))
                        .as("%s that are cut off at %d pixels", words, width)
                        .isZero();
            }
        }
    }

    /** Three rates of Muon stood beside four of MuonH: the page called MuonH's best the best, although Muon's was lower. */
    @Test
    void aFewRunsBesideASweepAreNotForgotten() throws Exception {
        for (double rate : new double[] {0.01, 0.0125, 0.015, 0.0225}) {
            run("muonh-" + rate, "matrices.mode=hyperball", "matrices.rate=" + rate, "adamw.rate=0.01");
        }
        for (double rate : new double[] {0.0067, 0.01, 0.015}) {
            lower(run("muon-" + rate, "matrices.rate=" + rate, "adamw.rate=" + rate), rate == 0.01 ? 0.4 : 0.3);
        }
        open();
        assertThat(browser.text("#title")).isEqualTo("Sweep of rate, base and hyperball");
        assertThat(browser.text("#claim").lines())
                .hasSize(3)
                .anyMatch(line -> line.startsWith("base: rate=0.01 is the best of 3 points"))
                .anyMatch(line -> line.startsWith("hyperball: rate=") && line.contains(" is the best of 4 points"))
                .last()
                .isEqualTo("Where adamw.rate changes, it changes with matrices.rate.");
        browser.close();
        lower(run("other", "matrices.direction=lion"), 0.5);
        open();
        assertThat(browser.text("#claim"))
                .contains("base: rate=0.01 is")
                .contains("other, which is no point of a sweep, has the lowest loss of all, ");
    }

    /** The second row began in the middle of the first, and there was no picture at all. */
    @Test
    void rowsOfTwoAndThreePanels() throws Exception {
        for (String ratio : List.of("0", "0.1")) {
            run("muon-" + ratio, "matrices.final_ratio=" + ratio);
            run("muonh-" + ratio, "matrices.final_ratio=" + ratio, "matrices.mode=hyperball");
        }
        run("twin", "matrices.final_ratio=0.1", "matrices.mode=hypertransfer", "target=../muon-0.1");
        run("back", "matrices.final_ratio=0.1", "matrices.mode=inverse-hypertransfer", "target=../muonh-0.1");
        open();
        assertThat(browser.integer("document.querySelectorAll('#rows svg text.cell').length"))
                .isEqualTo(4);
        browser.has(1, "#rows svg path[data-run=twin]");
    }

    /** "a ends lowest; next b, 0.1 below it at their common seed": and the mean over three seeds had no star against one. */
    @Test
    void theLowestIsLowestAtCommonSeeds() throws Exception {
        lower(run("a", "seed=1"), 0.3);
        for (int seed = 1; seed <= 3; seed++) {
            lower(run("b-seed" + seed, "seed=" + seed, "matrices.mode=hyperball"), seed == 1 ? 0.4 : 0.1);
        }
        run("c", "seed=1", "matrices.direction=lion");
        open();
        assertThat(browser.text("#claim"))
                .startsWith("b (3 seeds) ends lowest, at ")
                .containsPattern("next a, at \\d\\.\\d{4} and 0\\.11\\d+ above it at their common seed");
        assertThat(stars()).isEqualTo("b-seed1");
    }

    /** The luckier seed had the star, and its configuration was the best of a sweep. */
    @Test
    void withoutACommonSeedNoneIsTheLowest() throws Exception {
        lower(run("a", "seed=1"), 0.3);
        run("b", "seed=2", "matrices.mode=hyperball");
        open();
        assertThat(browser.text("#claim")).startsWith("b ends 0.28710 above a (they have no seed in common).");
        assertThat(stars()).isEmpty();
        browser.close();
        for (int i = 1; i <= 4; i++) {
            lower(run("r0.0" + i, "seed=" + i, "matrices.direction=lion", "matrices.rate=0.0" + i), 0.1 * i);
        }
        open();
        assertThat(browser.text("#claim"))
                .contains("Which point is best cannot be told: they have no seeds in common.")
                .doesNotContain(" is the best of ");
        assertThat(stars()).isEmpty();
    }

    /** The best of a sweep was the one whose further seeds were the luckiest. */
    @Test
    void theBestOfASweepIsBestAtCommonSeeds() throws Exception {
        for (int i = 1; i <= 4; i++) {
            lower(run("r0.0" + i, "seed=1", "matrices.rate=0.0" + i), 0.1 * i);
        }
        lower(run("r0.02-seed2", "seed=2", "matrices.rate=0.02"), 3);
        open();
        assertThat(browser.text("#claim"))
                .contains(
                        "rate=0.04 is the best of 4 points, with a last validation loss of 1.3252 (at common seeds); the worst ends 0.29123 above it");
        assertThat(browser.text("#sweep-curve"))
                .contains("best 1.3252 at rate=0.04 (at common seeds)")
                .containsPattern("rate=0.02 \\(2 seeds\\): 1\\.5\\d+ \\(at common seeds\\)");
        assertThat(values("#table [data-run=\"r0.02\"] [data-key=validation]").getFirst())
                .as("the mean over its seeds")
                .isLessThan(1);
        assertThat(stars()).isEqualTo("r0.04");
    }

    /** The proposed command began another sweep, elsewhere, and the panels were called "base, recorded=null". */
    @Test
    void aSweepIsExtendedWhereItLies() throws Exception {
        for (int i = 1; i <= 4; i++) {
            lower(run("sweep/matrices.rate=0.0" + i, "matrices.rate=0.0" + i), 0.1 * i);
            run("ball/rate-0.0" + i, "matrices.rate=0.0" + i, "matrices.mode=hyperball");
        }
        run("again", "matrices.recorded=angles.json");
        open();
        assertThat(browser.text("#sweep-curve"))
                .containsPattern("matrices.rate=0.05333,0.07111\\s*--out\\s*" + Pattern.quote(where("sweep")))
                .containsOnlyOnce("--out");
        assertThat(browser.text("#claim"))
                .contains("base: rate=0.04 is the best of 4 points", "hyperball: rate=0.0")
                .doesNotContain("null");
    }

    private String stars() throws Exception {
        return browser.string(
                "[...document.querySelectorAll('#table .best')].map(cell => cell.closest('tr').dataset.run).join()");
    }

    /** A transfer of one seed was said to follow all three. */
    @Test
    void oneOfThreeSeedsIsFollowed() throws Exception {
        for (int seed = 1; seed <= 3; seed++) {
            run("muon-seed" + seed, "seed=" + seed);
        }
        run("twin", "seed=2", "matrices.mode=hypertransfer", "target=../muon-seed2");
        open();
        assertThat(browser.text("#transfers [data-run=twin] h3")).isEqualTo("twin follows muon-seed2");
        assertThat(browser.text("#table tr[data-run=twin] th small")).isEqualTo("follows muon-seed2");
    }

    /** The page compared peak rates, too, and 'ht compare' any two runs: now both compare mean rates of two optimizers. */
    @Test
    void oneRuleForRatesThatAreApart() throws Exception {
        Path falls = run("falls", "matrices.mode=hyperball", "matrices.rate=0.04").directory;
        SyntheticRun worse =
                run("worse", "matrices.mode=hyperball", "matrices.rate=0.2"); // not the best of its optimizer
        lower(worse, -1);
        SyntheticRun lucky =
                run("lucky", "matrices.mode=hyperball", "matrices.rate=0.2", "seed=7"); // others have no such
        lower(lucky, 4);
        for (double rate : new double[] {0.025, 0.08}) { // less than the other's peak, and near its mean
            Path stays = run(
                            "stays",
                            "matrices.direction=adam",
                            "matrices.mode=hyperball",
                            "matrices.schedule=constant",
                            "matrices.rate=" + rate)
                    .directory;
            open();
            assertThat(browser.text("#warning").contains("-fold (mean effective rate "))
                    .isEqualTo(rate == 0.08);
            close();
            browser = null;
            assertThat(new Ht()
                            .fine("compare", falls, stays, worse.directory, lucky.directory)
                            .contains("-fold"))
                    .isEqualTo(rate == 0.08);
        }
        run("longer", "steps=60"); // which 'ht fair' would refuse
        open();
        assertThat(browser.text("#warning")).isEmpty();
    }

    /** Its rates so far were held against all of another's, and 'ht fair' recommended. */
    @Test
    void aRunThatIsNotFinishedIsNoReasonForAWarning() throws Exception {
        run("muon", "matrices.rate=0.02");
        SyntheticRun part = run("muonh", "matrices.mode=hyperball", "matrices.rate=0.2");
        open();
        assertThat(browser.text("#warning")).contains("they compare rates as well as optimizers");
        browser.close();
        part.begin().append(8, 2).state("interrupted");
        open();
        assertThat(browser.text("#warning")).isEmpty();
        assertThat(browser.text("#claim")).containsPattern("muonh peak [^;]* so far\\.$");
    }

    /** "ends lowest; next the other, 0 above it"; one of the two had the star. */
    @Test
    void runsThatEndLevelAreNamedTogether() throws Exception {
        lower(run("muon"), 1);
        lower(run("twin", "matrices.mode=fair"), 1);
        run("long", "steps=60");
        open();
        assertThat(browser.text("#claim"))
                .startsWith("muon and twin end lowest, at ")
                .contains(
                        "; next long, 1.00000 above them; the runs are up to 1.00000 apart (these runs have 30 to 60 steps).");
        browser.has(2, "#table .best");
    }

    /** The mean over three seeds was held against the one seed of the other. */
    @Test
    void oneCommonSeed() throws Exception {
        for (int seed = 1; seed <= 3; seed++) {
            lower(run("muon-seed" + seed, "seed=" + seed), -0.1 * seed);
        }
        lower(run("twin", "seed=1", "matrices.mode=fair"), 0.15);
        open();
        assertThat(browser.text("#claim")).startsWith("muon (3 seeds) ends 0.25000 above twin at their common seed.");
    }

    /** They were one heat map, in which each cell was the better of the two. */
    @Test
    void sweepsOfTwoModesAreFacets() throws Exception {
        for (String mode : List.of("base", "hyperball")) {
            for (String rate : List.of("0.01", "0.02", "0.04")) {
                for (String adam : List.of("0.01", "0.02", "0.04")) {
                    for (String decay : List.of("0.1", "0.2")) {
                        String at = rate + "-" + adam + "-" + decay;
                        double better = 10 * Double.parseDouble(adam)
                                + Double.parseDouble(decay) / 10
                                + (at.equals("0.02-0.02-0.2") ? 1 : 0);
                        lower(
                                run(
                                        mode + "-" + at,
                                        "model.layers=1",
                                        "matrices.mode=" + mode,
                                        "matrices.rate=" + rate,
                                        "adamw.rate=" + adam,
                                        "matrices.decay=" + decay),
                                better);
                    }
                }
            }
        }
        open();
        assertThat(browser.text("#title"))
                .isEqualTo("Sweep of adamw.rate and matrices.rate and decay, base and hyperball");
        assertThat(browser.string(
                        "[...document.querySelectorAll('#sweep-curve .facet')].map(e => e.textContent).join()"))
                .isEqualTo("base,hyperball");
        browser.has(36, "#sweep-curve circle[data-run]");
        browser.has(18, "#sweep-map [data-cell]"); // nine in each map
        browser.has(2, "#sweep-map .best[width]");
        assertThat(browser.text("#sweep-map svg")).contains("; matrices.decay at its best");
        assertThat(browser.text("#claim").split("\n"))
                .hasSize(2)
                .allMatch(line ->
                        line.contains(": adamw.rate=0.02, matrices.rate=0.02, decay=0.2 is the best of 18 points"));
        assertThat(browser.string("document.getElementById('colour').value"))
                .as("what matters")
                .isEqualTo("adamw.rate");
        // Of many rows the first twelve, below the figures.
        assertThat(values("#table tbody [data-key=validation]")).hasSize(36).isSorted();
        assertThat(visibleRows()).isEqualTo(12);
        assertThat(browser.string("document.getElementById('runs').previousElementSibling.id"))
                .isEqualTo("curves");
        assertThat(browser.text("#fold")).isEqualTo("Show all 36");
        browser.evaluate("document.getElementById('fold').click()");
        assertThat(visibleRows()).isEqualTo(36);
        browser.set("search", "hyperball");
        assertThat(browser.text("#claim"))
                .startsWith("adamw.rate=0.02, matrices.rate=0.02, decay=0.2 is the best of 18 points");
    }

    private int visibleRows() throws Exception {
        return browser.integer(
                "[...document.querySelectorAll('#table tbody tr')].filter(row => row.offsetHeight > 0).length");
    }

    /** The page said "best of 6 points", and "5 without a loss", of which there was none. */
    @Test
    void twoSchedulesAreRowsAndNoSweep() throws Exception {
        for (String end : List.of("0", "0.1")) {
            String place = end.equals("0") ? "zero" : "tenth", rate = end.equals("0") ? "0.04" : "0.03";
            for (String[] member : new String[][] {
                {"muon", "base", rate},
                {"muonh", "hyperball", "0.02"},
                {"hyper", "hypertransfer-plus", rate, "target=../muon"},
                {"inverse", "inverse-hypertransfer-plus", "0.02", "target=../muonh"}
            }) {
                Stream<String> settings = Stream.of(
                        "network=M2",
                        "matrices.final_ratio=" + end,
                        "matrices.mode=" + member[1],
                        "matrices.rate=" + member[2]);
                run(
                        place + "/" + member[0],
                        Stream.concat(settings, Stream.of(member).skip(3)).toArray(String[]::new));
            }
        }
        // The paper's matched schedule, which one optimizer has: all of the grid was gone.
        run("matched", "network=M2", "matrices.final_ratio=0.034", "matrices.mode=hyperball", "matrices.rate=0.02");
        open();
        assertThat(browser.evaluate("document.getElementById('sweep').hidden").asBoolean())
                .isTrue();
        assertThat(browser.text("#claim"))
                .startsWith("Schedule to zero: zero/muon and zero/muonh end ")
                .contains("\nSchedule to 0.1 of the peak: tenth/muon and tenth/muonh end ")
                .doesNotContain("best of", "without a loss");
        assertThat(browser.string(
                        "[...document.querySelectorAll('#rows text.cell')].map(e => e.textContent).join('; ')"))
                .isEqualTo(
                        "to zero: hyper follows muon; to zero: inverse follows muonh; to zero: effective rate; to 0.1 of the peak: "
                                + "hyper follows muon; to 0.1 of the peak: inverse follows muonh; to 0.1 of the peak: effective rate");
        browser.has(2 * (3 + 3 + 2), "#rows path[data-run]");
        browser.has(4, "#legend [data-run$=muon] line, #legend [data-run$=muonh] line");
        assertThat(
                        browser.integer(
                                "new Set([...document.querySelectorAll('#legend [data-run$=muon] line')].map(e => e.getAttribute('stroke'))).size"))
                .as("one optimizer, one colour")
                .isEqualTo(1);
        assertThat(browser.text("#warning"))
                .contains("differ 1.9-fold", "ht fair " + where("zero/muonh") + " " + where("zero/muon"));
    }

    private List<Double> values(String selector) throws Exception {
        return browser.numbers("[...document.querySelectorAll('" + selector + "')].map(cell => cell.dataset.value)"
                + ".filter(Boolean).map(Number)");
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

    /** A run as a command takes it from any folder: the page only had its name, which is no path from here. */
    private String where(String name) throws IOException {
        Path run = folder.resolve(name).toRealPath();
        return run.toString();
    }

    private SyntheticRun run(String name, String... settings) throws IOException {
        boolean sweep = name.startsWith("r0");
        String[] all = Stream.concat(Stream.of("steps=30"), Stream.of(settings)).toArray(String[]::new);
        return new SyntheticRun(folder.resolve(name), sweep ? 0.01 : 0, all).finished();
    }

    private void open() throws Exception {
        Path page = folder.resolve("report.html");
        Report.write(null, null, List.of(folder), page);
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
