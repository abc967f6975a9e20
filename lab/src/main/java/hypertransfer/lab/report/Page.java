package hypertransfer.lab.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.stream.Collectors;

/** The page: one file with its style, its scripts and its data inside. */
final class Page {
    private static final List<String> SCRIPTS =
            List.of("numbers.js", "model.js", "chart.js", "hover.js", "heat.js", "save.js", "tables.js", "page.js");

    private Page() {}

    /** A report of what was read. */
    static String report(List<String> messages) {
        return page("{\"live\":false,\"written\":\"" + Instant.now().truncatedTo(ChronoUnit.SECONDS)
                + "\",\"messages\":[" + String.join(",", messages) + "]}");
    }

    /** A page that asks its server for messages. */
    static String live() {
        return page("{\"live\":true,\"messages\":[]}");
    }

    private static String page(String data) {
        String scripts = SCRIPTS.stream().map(Page::resource).collect(Collectors.joining("\n"));
        // A "<" inside JSON can only stand in a string, where the escape means the same and ends no script element.
        return resource("page.html")
                .replace("{{style}}", resource("page.css"))
                .replace("{{script}}", scripts)
                .replace("{{data}}", data.replace("<", "\\u003c"));
    }

    private static String resource(String name) {
        try (InputStream in = Page.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("the resource " + name + " is not in the jar");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
