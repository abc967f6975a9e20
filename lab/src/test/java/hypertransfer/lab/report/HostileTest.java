package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.train.log.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.core.JsonPointer;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.ObjectMapper;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** Text of a run's files that looks like markup stays text: no element and no script comes of it. */
class HostileTest {
    private static final String NAME =
            "\"'><img src=x onerror=hacked=1><svg onload=hacked=1><hacked onclick=hacked=1>${hacked=1}{{data}}";
    private static final String TEXT = NAME + "</script><script>hacked=1</script></style></title><hacked>";

    @TempDir
    Path folder;

    private int count;

    @Test
    void everyStringOfTheFiles() throws Exception {
        run(NAME);
        run("plain/" + NAME);
        for (String file : List.of("config.yaml", "provenance.json", "state.json")) {
            ObjectMapper mapper = file.endsWith("yaml") ? YAMLMapper.shared() : JsonMapper.shared();
            JsonNode whole = mapper.readTree(run("n" + count).resolve(file));
            for (JsonPointer place : places(whole, JsonPointer.empty())) {
                JsonNode tree = whole.deepCopy();
                spoil(tree, place);
                mapper.writeValue(run("n" + count).resolve(file).toFile(), tree);
            }
        }
        Path page = folder.resolve("report.html");
        List<Path> runs = new ArrayList<>();
        try (var found = Files.walk(folder)) {
            found.filter(Run::in).forEach(runs::add);
        }
        Report report = Report.write(null, null, runs, page);
        assertThat(report.names().size() + report.skipped().size()).isEqualTo(count);
        assertThat(report.names()).hasSizeGreaterThan(count / 2).contains("plain/" + NAME);
        try (Browser browser = new Browser();
                Server server = Server.open(folder, 0)) {
            browser.open(page.toUri().toString(), 1280, 3000, false);
            clean(browser, report.names().size() - 3); // other networks are on sheets of their own
            browser.open("http://127.0.0.1:" + server.port() + "/", 1280, 3000, false);
            Browser.waitFor("the runs", () -> browser.count("#table [data-run]") > 5);
            clean(browser, 5);
            assertThat(browser.console()).isEmpty();
        }
    }

    @Test
    void thePagesPolicyRefusesWhatWasNotEscaped() throws Exception {
        run("muon");
        Path page = folder.resolve("report.html");
        Report.write(null, null, List.of(folder), page);
        assertThat(Files.readString(page)).contains("script-src 'sha256-").doesNotContain("unsafe");
        try (Browser browser = new Browser()) {
            browser.open(page.toUri().toString(), 1280, 1000, false);
            assertThatThrownBy(() -> browser.evaluate("document.body.innerHTML = '<img src=x onerror=hacked=1>'"))
                    .hasMessageContaining("TrustedHTML");
            assertThatThrownBy(() -> browser.evaluate("document.body.setAttribute('onclick', 'hacked=1')"))
                    .hasMessageContaining("TrustedScript");
            browser.has(1, "#table tbody tr");
        }
    }

    /** The page as it is opened, and after everything that draws was touched. */
    private static void clean(Browser browser, int atLeast) throws Exception {
        browser.evaluate("document.getElementById('everything').click()");
        browser.evaluate("document.querySelectorAll('.log, #layers [data-all]').forEach(e => e.click())");
        for (int i = 0; i < 6; i++) {
            browser.mouse("mouseMoved", 300 + 20 * i, 600 + 200 * i);
        }
        assertThat(browser.count("#table [data-run]")).isGreaterThanOrEqualTo(atLeast);
        assertThat(browser.string("typeof hacked")).isEqualTo("undefined");
        browser.has(0, "img, hacked, iframe, object, embed");
        browser.has(2, "script");
        assertThat(browser.string("[...document.querySelectorAll('*')].filter(e => [...e.attributes]"
                        + ".some(a => a.name.startsWith('on') || a.name === 'style' && a.value.includes('hacked')))"
                        + ".map(e => e.outerHTML.slice(0, 200)).join()"))
                .isEmpty();
    }

    private Path run(String name) throws IOException {
        count++;
        return new SyntheticRun(folder.resolve(name), 0, "steps=3", "model.layers=1").finished().directory;
    }

    /** The way to every string, also in arrays, and to every key. */
    private static List<JsonPointer> places(JsonNode node, JsonPointer way) {
        var found = new ArrayList<JsonPointer>();
        if (node.isString() || node.isNull()) {
            found.add(way);
        } else if (node.isObject()) {
            node.properties().forEach(e -> found.addAll(places(e.getValue(), way.appendProperty(e.getKey()))));
            found.add(way.appendProperty(TEXT)); // a key that nobody expects
        } else if (node.isArray() && !node.isEmpty()) {
            found.addAll(places(node.get(0), way.appendIndex(0)));
        }
        return found;
    }

    private static void spoil(JsonNode tree, JsonPointer way) {
        switch (tree.at(way.head())) {
            case ObjectNode object -> object.put(way.last().getMatchingProperty(), TEXT);
            case ArrayNode array -> array.set(way.last().getMatchingIndex(), TEXT);
            default -> throw new AssertionError(way);
        }
    }
}
