package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.lab.Ht;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Matrices;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** The page that computes, as somebody uses it. */
class CalculatorTest {
    @TempDir
    static Path folder;

    private static Browser browser;
    private static String address;

    @BeforeAll
    static void write() throws Exception {
        Path page = folder.resolve("a page.html");
        Page.calculator(page);
        address = page.toUri().toString();
        browser = new Browser();
    }

    @AfterAll
    static void close() throws Exception {
        if (browser != null) {
            browser.close();
        }
    }

    @AfterEach
    void nothingIsLogged() {
        assertThat(browser.console()).isEmpty();
    }

    /** Loads the page. */
    private static void open(String state, int width, boolean dark) throws Exception {
        browser.call("Page.navigate", Map.of("url", "about:blank")); // another hash alone would load nothing
        Browser.waitFor("an empty page", () -> browser.string("location.href").equals("about:blank"));
        browser.open(address + "#" + state, width, 900, dark);
        settled();
    }

    /** The same page as if it were loaded with this state. */
    private static void open(String state) throws Exception {
        browser.evaluate("history.replaceState(null, '', '#" + state + "'); dispatchEvent(new Event('hashchange'))");
        settled();
    }

    @BeforeEach
    void wide() throws Exception {
        if (browser.integer("innerWidth") != 1280 || browser.count("#answer") == 0) {
            open("", 1280, false);
        }
    }

    private static void settled() throws Exception {
        Browser.waitFor("the answer", () -> browser.count("#answer h2") == 1 && browser.count("#answer.waiting") == 0);
    }

    /** Waits for the last to be computed. */
    private static void everyKind() throws Exception {
        Browser.waitFor("each kind", () -> browser.count("#table tr > [data-value='']:last-child") == 0);
    }

    /** Writes into an entry, as somebody types. */
    private static void type(String id, String text) throws Exception {
        browser.evaluate("(e => { e.value = " + JsonMapper.shared().writeValueAsString(text)
                + "; e.dispatchEvent(new Event('input', { bubbles: true })); })(document.getElementById('" + id
                + "'))");
    }

    private static String value(String id) throws Exception {
        return browser.string("document.getElementById('" + id + "').value");
    }

    private static double answer(int number) throws Exception {
        return browser.number("Number(document.querySelectorAll('#answer dd')[" + number + "].dataset.value)");
    }

    /** The same entries, in the page and on the command line. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            start                                                        | --to muonh
            to=adamw                                                | --to adamw
            to=muon&toDecay=0.3                                     | --with matrices.decay=0.3
            to=muon&toWidth=256                                     | --with model.width=256
            to=muon&toFactor=rms&norm=M2&final=0.1                  | --set network=M2 --set matrices.final_ratio=0.1 --with matrices.shape_factor=rms
            optimizer=muonh&rate=0.03&shape=cosine&to=muon&steps=90 | --set matrices.mode=hyperball --set matrices.rate=0.03 --set matrices.schedule=cosine --set steps=90 --with matrices.mode=base
            """)
    void theAnswerIsThatOfHtRates(String state, String arguments) throws Exception {
        open(state);
        JsonNode wanted = new Ht().json("rates ../runs/muon.yaml " + arguments);
        assertThat(answer(0)).isCloseTo(wanted.get("rate").asDouble(), within(1e-8));
        assertThat(answer(1)).isCloseTo(wanted.get("final_ratio").asDouble(), within(1e-6));
        assertThat(answer(2)).isCloseTo(wanted.get("error").asDouble(), within(1e-10));
        everyKind();
        List<Double> shown = browser.numbers(
                "Array.from(document.querySelectorAll('#table tbody tr'), r => Number(r.cells[9].dataset.value))");
        for (int i = 0; i < 6; i++) {
            assertThat(shown.get(i))
                    .isCloseTo(wanted.get("kinds").get(i).get("rate").asDouble(), within(1e-8));
        }
    }

    @Test
    void theTableIsThatOfHtPredict() throws Exception {
        open("rate=0.03&shape=trapezoid:0.3&final=0.2");
        JsonNode kinds = new Ht()
                .json("predict ../runs/muon.yaml --set matrices.rate=0.03 --set matrices.schedule=trapezoid:0.3"
                        + " --set matrices.final_ratio=0.2")
                .get("kinds");
        List<String> names = List.of(
                "start_norm", "end_norm", "peak_effective", "peak_step", "end_to_peak", "rest_norm", "rest_effective");
        for (int i = 0; i < 6; i++) {
            List<Double> row = browser.numbers("Array.from(document.querySelectorAll('#table tbody tr')[" + i
                    + "].cells).slice(2, 9).map(c => Number(c.dataset.value))");
            for (int k = 0; k < names.size(); k++) {
                double wanted = kinds.get(i).get(names.get(k)).asDouble();
                assertThat(row.get(k) / wanted).as(names.get(k)).isCloseTo(1, within(1e-13));
            }
        }
        assertThat(browser.text("#answer"))
                .contains("at rest within 5 % after "
                        + Math.round(kinds.get(0).get("steps_to_rest").asDouble()) + " steps");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            torch.optim.Muon(params, lr=0.02, weight_decay=0.1, momentum=0.95)                  | muon  0.02 0.1 0.95 tall
            optim.Muon(model.parameters(), 3e-4, momentum=.9, adjust_lr_fn="match_rms_adamw")   | muon  0.0003 0.1 0.9 rms
            opt = Muon(hidden, lr=0.05, momentum=0.97, nesterov=True)  # Keller Jordan's        | muon  0.05 0 0.97 tall
            Muon(lr=1e-3, wd=0.1, muon_params=p, adamw_params=q)                                | muon  0.001 0.1 0.95 rms
            torch.optim.AdamW(get(a, [b, c]), lr=1e-3, betas=(0.8, 0.99), weight_decay=0.2)     | adamw 0.001 0.2 0.8
            AdamW(params)                                                                       | adamw 0.001 0.01 0.9
            HyperTransfer([muonh(hidden, lr=0.0125), adamw(rest, lr=3e-4)])                     | muonh 0.0125
            hypertransfer.muon(params, lr=1_0.5, shape_factor='spectral', weight_decay=0.01)    | muon  10.5 0.01 0.95 spectral
            matrices.rate: 0.03                                                                 | muon  0.03 0.1 0.95 none
            matrices: {direction: adam, mode: base, rate: 0.004, decay: 0.05}                   | adamw 0.004 0.05 0.9
            """)
    void aLineIsRead(String line, String wanted) throws Exception {
        open("steps=20");
        type("line", line);
        String[] parts = wanted.split(" +");
        List<String> ids =
                List.of("optimizer", "rate", "decay", parts[0].startsWith("adam") ? "beta1" : "momentum", "factor");
        for (int i = 0; i < parts.length; i++) {
            assertThat(value(ids.get(i))).as(ids.get(i)).isEqualTo(parts[i]);
        }
        assertThat(browser.text("#line-said")).startsWith("Read as ");
    }

    @Test
    void aConfigurationIsRead() throws Exception {
        open("steps=20");
        type(
                "line",
                Files.readString(Path.of("../runs/muonh.yaml")) + "matrices.final_ratio: 0.1\nmatrices.warmup: 0.1");
        assertThat(Stream.of("optimizer", "rate", "steps", "final", "warmup").map(id -> {
                    try {
                        return value(id);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                }))
                .containsExactly("muonh", "0.02", "400", "0.1", "0.1");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            line     | hello                                          | 'hello' is no optimizer that this page knows; write one
            line     | torch.optim.SGD(params, lr=0.1)                | torch.optim.SGD adds weight decay to the gradient
            line     | torch.optim.Muon(params, lr=0.02               | the bracket after torch.optim.Muon is not closed; add a )
            line     | torch.optim.Muon(params, lr=base_lr)           | lr is 'base_lr'; write one number, such as 0.02
            line     | torch.optim.Muon(params, lrr=0.1)              | lrr is no argument of torch.optim.Muon that this page knows
            line     | muonh(params)                                  | muonh has no lr; add lr=0.02
            line     | MuonH(params, lr=0.01, weight_decay=0.1)       | weight_decay is 0.1, and MuonH has none
            line     | matrices.rtae: 0.02                            | matrices.rtae is no key that this page reads; it reads matrices.rate
            line     | matrices.direction: lion                       | matrices.direction is 'lion'; it must be one of muon, normuon, adam
            line     | preset: huge                                   | preset is 'huge'; it must be one of demo, small
            rate     | fast                                           | peak rate is 'fast'; write one number
            rate     | 0                                              | peak rate is 0; it must be above 0
            rate     | 20                                             | learning rate 20.0 of step
            decay    | -1                                             | weight decay is -1; it must be from 0
            momentum | 1                                              | momentum is 1; it must be from 0 to less than 1
            steps    | 2.5                                            | steps is 2.5; it must be a whole number from 1
            shape    | triangle                                       | unknown schedule shape 'triangle'; the shapes are linear
            matrices | fc 512 by 128                                  | 'fc 512 by 128' is no matrix; write it as fc 512x128 x4
            """)
    void whatCannotBeReadIsRefusedAtItsField(String id, String text, String sentence) throws Exception {
        open("steps=20");
        type(id, text);
        assertThat(browser.text("#" + id + "-said")).startsWith(sentence);
        assertThat(browser.string("document.getElementById('" + id + "').getAttribute('aria-invalid')"))
                .isEqualTo("true");
        type(id, good(id));
        settled();
        assertThat(browser.count("[aria-invalid=true]")).isZero();
        assertThat(browser.text("#answer h2")).isEqualTo("MuonH needs");
    }

    private static String good(String id) {
        return switch (id) {
            case "line" -> "torch.optim.Muon(params, lr=0.01)";
            case "shape" -> "cosine";
            case "matrices" -> "512x128, 128x128 x3";
            case "steps" -> "100";
            default -> "0.5";
        };
    }

    @Test
    void theAddressKeepsEverything() throws Exception {
        open("");
        assertThat(browser.string("location.hash")).isEmpty();
        type("network", "gpt2-124m");
        type("steps", "400"); // what another network begins with
        assertThat(browser.string("location.hash")).isEqualTo("#network=gpt2-124m&steps=400");
        type("decay", "0.3");
        type("toDecay", "0.1");
        type("to", "muon");
        type("momentum-slider", "500");
        type("matrices", "fc 300x100 x2\nq 100x100");
        settled();
        browser.evaluate("document.querySelectorAll('[data-schedule]')[1].click()");
        browser.evaluate("document.querySelector('.key').click()");
        browser.evaluate("document.querySelector('#figures .log').click()");
        settled();
        String shown = shown(), hash = browser.string("location.hash");
        assertThat(hash).contains("decay=0.3", "momentum=0.495", "final=0.1", "hide=fc", "log=effective-rate");
        open(hash.substring(1), 1280, false);
        assertThat(shown()).isEqualTo(shown);
        assertThat(browser.string("location.hash")).isEqualTo(hash);
        browser.evaluate("location.hash = '#rate=0.07&to=adamh'");
        Browser.waitFor("another address", () -> browser.text("#answer h2").equals("AdamH needs"));
        assertThat(List.of(value("rate"), value("steps"), value("decay"))).containsExactly("0.07", "400", "0.1");
    }

    private static String shown() throws Exception {
        everyKind();
        return browser.string(
                "JSON.stringify(Array.from(document.querySelectorAll('#controls :is(select, input, textarea)'),"
                        + " e => e.id + '=' + e.value)) + document.getElementById('answer').innerText"
                        + " + document.getElementById('table').innerText + document.querySelectorAll('#figures path').length");
    }

    @Test
    void whatIsCopiedIsTheAnswer() throws Exception {
        open("to=muon&toDecay=0.3&toFactor=rms&toWidth=64&steps=3000&final=0.1");
        browser.evaluate("document.querySelector('[data-copy=yaml]').click()");
        everyKind(); // in so long a run they come after the answer, and leave what is selected in it
        String yaml = browser.string("getSelection().toString()");
        Path file = Files.writeString(folder.resolve("copied.yaml"), yaml);
        Configuration read = ConfigurationFile.read(file, List.of());
        Matrices matrices = read.matrices();
        assertThat(matrices.rate() / answer(0)).isCloseTo(1, within(1e-3));
        assertThat(matrices.schedule(3000).finalRatio()).isCloseTo(answer(1), within(6e-5));
        assertThat(List.of(read.steps(), read.model().width())).containsExactly(3000, 64);
        assertThat(matrices.transfer().target().decay()).isEqualTo(0.3);
        type("line", yaml);
        assertThat(value("rate")).isEqualTo("" + matrices.rate());
    }

    /** The lines run, where PyTorch is installed; torch's own Muon is newer than some. */
    @Test
    void thePythonRuns() throws Exception {
        StringBuilder script = new StringBuilder("import torch\n");
        for (String state : List.of("start", "to=adamw", "to=adamh", "to=muon&toDecay=0.3")) {
            open(state);
            script.append("params = [torch.nn.Parameter(torch.ones(4, 2))]\n")
                    .append(browser.text("#python"))
                    .append(
                            "\ngroup = optimizer.param_groups[0]\nprint(group['lr'], max(rates), len(rates), group['weight_decay'])\n");
        }
        Path said = folder.resolve("said.txt");
        ProcessBuilder python = new ProcessBuilder("/usr/bin/python3", "-c", script.toString())
                .redirectErrorStream(true)
                .redirectOutput(said.toFile());
        python.environment().put("PYTHONPATH", Path.of("../python").toRealPath().toString());
        boolean ran = Files.isExecutable(Path.of("/usr/bin/python3"))
                && python.start().waitFor() == 0;
        String text = Files.exists(said) ? Files.readString(said).strip() : "no Python here";
        Assumptions.assumeFalse(text.contains("No module named 'torch'") || text.startsWith("no Python"), text);
        assertThat(ran).as(text).isTrue();
        assertThat(text.lines()).hasSize(4).allMatch(line -> {
            String[] parts = line.split(" ");
            return parts[0].equals(parts[1]) && parts[2].equals("400");
        });
        assertThat(text.lines().toList().getLast()).endsWith(" 0.3");
    }

    @Test
    void itFitsAPhoneAndTheDark() throws Exception {
        for (int width : List.of(320, 390, 768, 1280)) {
            boolean dark = width == 390 || width == 1280;
            open("network=gpt2-124m&to=adamw&steps=50", width, dark);
            assertThat(browser.integer("document.documentElement.scrollWidth")).isEqualTo(width);
            assertThat(browser.string("document.documentElement.dataset.theme")).isEqualTo(dark ? "dark" : "light");
            assertThat(browser.numbers(
                            "Array.from(document.querySelectorAll('#controls *, #answer *, .figure, .canvas svg'),"
                                    + " e => e.getBoundingClientRect().right)"))
                    .allSatisfy(right -> assertThat(right).isLessThanOrEqualTo(width));
        }
    }

    @Test
    void nothingIsAskedOfANetwork() throws Exception {
        open("");
        assertThat(browser.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
                        .valueStream())
                .allMatch(name ->
                        name.asString().startsWith("blob:") || name.asString().startsWith("data:"));
        assertThat(Files.readString(folder.resolve("a page.html")))
                .contains("default-src 'none'")
                .doesNotContainPattern("\\{\\{[a-z]+}}")
                .doesNotContain("connect-src", "<link rel=\"stylesheet\"", "src=\"http");
    }
}
