package hypertransfer.lab.report;

import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Turning;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Preset;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.commons.statistics.distribution.TDistribution;
import tools.jackson.databind.json.JsonMapper;

/** The page: one file with its style, its scripts and its data inside. */
public final class Page {
    /** In the order in which they use each other. */
    private static final String SCRIPTS =
            "markup theme numbers model study words paint chart pointer heat sweep standings geometry save tables address live page";

    private static final String CALCULATOR = "markup theme numbers chart pointer save lines calculator";

    private static final String D3 =
            "/META-INF/resources/webjars/d3/7.9.0/dist/d3.min.js"; // a WebJar on the class path

    /** Student: for the mean of 2, 3, ... values, how many standard errors to each side its 95% interval has. */
    private static final String KNOWN = IntStream.rangeClosed(1, 30)
            .mapToObj(freedom -> Double.toString(TDistribution.of(freedom).inverseSurvivalProbability(0.025)))
            .collect(Collectors.joining(
                    ",", "{\"apart\":" + Turning.APART + ",\"task\":\"" + Run.TASK + "\",\"student\":[", "],"));

    private Page() {}

    /** A report of what was read; {@code title} and {@code note} may be null. */
    static String report(String title, String note, List<String> messages) {
        JsonMapper json = JsonMapper.shared();
        return page("\"live\":false,\"title\":" + json.writeValueAsString(title) + ",\"note\":"
                + json.writeValueAsString(note) + ",\"written\":\""
                + Instant.now().truncatedTo(ChronoUnit.SECONDS)
                + "\",\"messages\":[" + String.join(",", messages) + "]");
    }

    /** A page that asks its server for messages. */
    static String live() {
        return page("\"live\":true,\"messages\":[]");
    }

    /** A network that has a name: {@code matrices} has a line such as {@code fc 512x128 x4} per kind. */
    private record Known(String name, int width, int steps, String factor, String matrices) {
        static Known of(Preset preset) {
            List<Outline> hidden = preset.architecture.hidden();
            String matrices = hidden.stream()
                    .collect(Collectors.groupingBy(Outline::kind, LinkedHashMap::new, Collectors.toList()))
                    .values()
                    .stream()
                    .map(alike -> alike.getFirst().kind().label() + " "
                            + alike.getFirst().rows() + "x" + alike.getFirst().cols() + " x" + alike.size())
                    .collect(Collectors.joining("\n"));
            int width = preset.architecture.width();
            return new Known(preset.label(), width, preset.steps, preset.paper() ? "rms" : "none", matrices);
        }
    }

    /** Writes the page of {@code ht page}, for those who have no run yet, whole or not at all. */
    public static void calculator(Path out) {
        List<Known> known = Arrays.stream(Preset.values()).map(Known::of).toList();
        String formulas = "var formulas = (exports => {" + resource("/hypertransfer/page/formulas.js")
                + "\nreturn exports; })({});";
        String script = script(CALCULATOR), style = resource("page.css") + resource("calculator.css");
        String page = resource("calculator.html")
                .replace("{{policy}}", policy(style, formulas, script) + "; worker-src blob:")
                .replace("{{style}}", style)
                .replace("{{formulas}}", formulas)
                .replace("{{script}}", script)
                .replace("{{data}}", JsonMapper.shared().writeValueAsString(known));
        Report.write(out, page);
    }

    private static String page(String data) {
        String script = script(SCRIPTS), style = resource("page.css");
        // A "<" inside JSON can only stand in a string, where the escape means the same and ends no script element.
        return resource("page.html")
                .replace("{{policy}}", policy(style, script) + "; connect-src 'self'")
                .replace("{{style}}", style)
                .replace("{{networks}}", resource("networks.svg"))
                .replace("{{script}}", script)
                .replace("{{data}}", KNOWN + data.replace("<", "\\u003c") + "}");
    }

    private static String script(String names) {
        return Arrays.stream(names.split(" "))
                .map(name -> resource(name + ".js"))
                .collect(Collectors.joining("\n", resource(D3) + "\n(() => {\n", "\n})();"));
    }

    /** Only this style and these scripts: text of a run's files that looks like either stays text. */
    private static String policy(String style, String... scripts) {
        return Arrays.stream(scripts)
                .map(script -> " '" + hash(script) + "'")
                .collect(Collectors.joining(
                        "",
                        "default-src 'none'; style-src '" + hash(style) + "'; script-src",
                        "; img-src data: blob:; base-uri 'none'; form-action 'none'"
                                + "; require-trusted-types-for 'script'; trusted-types page"));
    }

    private static String hash(String text) {
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
            return "sha256-" + Base64.getEncoder().encodeToString(digest);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every Java platform has SHA-256
        }
    }

    private static String resource(String name) {
        return Atomic.told("read", Path.of(name), () -> {
            try (InputStream in = Page.class.getResourceAsStream(name)) {
                return new String(in.readAllBytes(), StandardCharsets.UTF_8);
            }
        });
    }
}
