package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.file.Folder;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** A tab of headless Chromium, driven through its DevTools protocol on 127.0.0.1. */
final class Browser implements AutoCloseable {
    private static final JsonMapper JSON = JsonMapper.shared();
    private static final long PATIENCE_SECONDS = 600;

    private static final String OPTIONS = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run"
            + " --disable-background-networking --disable-component-update --disable-sync --disable-dev-shm-usage"
            + " --hide-scrollbars --disable-renderer-backgrounding --disable-background-timer-throttling"
            + " --remote-debugging-address=127.0.0.1 --remote-debugging-port=0";
    private static final List<String> COMPLAINTS =
            List.of("Runtime.consoleAPICalled Runtime.exceptionThrown Log.entryAdded Network.loadingFailed".split(" "));
    private static String port; // of the one Chromium that all tests of this process share

    private final String id;
    private final WebSocket socket;
    private final HttpClient http = HttpClient.newHttpClient();
    private final AtomicInteger ids = new AtomicInteger();
    private final Map<Integer, CompletableFuture<JsonNode>> answers = new ConcurrentHashMap<>();
    private final List<String> console = new CopyOnWriteArrayList<>();

    static Optional<Path> installed() {
        return Stream.of("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
                .map(Path::of)
                .filter(Files::isExecutable)
                .findFirst();
    }

    /** Starting one takes seconds; it ends with this process. */
    private static synchronized void start() throws Exception {
        if (port != null) {
            return;
        }
        Path profile = Files.createTempDirectory("chromium");
        List<String> command = new ArrayList<>(List.of(installed().orElseThrow().toString()));
        command.addAll(List.of(OPTIONS.split(" ")));
        command.addAll(List.of("--user-data-dir=" + profile, "about:blank"));
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().onExit().join();
            try {
                Folder.delete(profile);
            } catch (IOException e) { // a file that Chromium wrote meanwhile: it is in the temporary directory
            }
        }));
        Path file = profile.resolve("DevToolsActivePort");
        waitFor("its port", () -> Files.exists(file) && Files.readAllLines(file).size() > 1);
        port = Files.readAllLines(file).getFirst();
    }

    /** Ends a test where none is installed. */
    Browser() throws Exception {
        Assumptions.assumeTrue(installed().isPresent(), "no Chromium is installed, so no browser opened the page");
        start();
        JsonNode tab = JSON.readTree(ask("new?about:blank"));
        id = tab.path("id").asString();
        socket = http.newWebSocketBuilder()
                .buildAsync(URI.create(tab.path("webSocketDebuggerUrl").asString()), new Ear())
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        for (String domain : List.of("Runtime", "Log", "Page", "Network")) {
            call(domain + ".enable", Map.of());
        }
    }

    private String ask(String what) {
        URI address = URI.create("http://127.0.0.1:" + port + "/json/" + what);
        HttpRequest request = HttpRequest.newBuilder(address)
                .PUT(HttpRequest.BodyPublishers.noBody())
                .build();
        return http.sendAsync(request, BodyHandlers.ofString()).join().body();
    }

    /** What the page wrote to the console, threw, or failed to load. */
    List<String> console() {
        return console;
    }

    JsonNode call(String method, Map<String, ?> parameters) throws Exception {
        int id = ids.incrementAndGet();
        var answer = new CompletableFuture<JsonNode>();
        answers.put(id, answer);
        socket.sendText(JSON.writeValueAsString(Map.of("id", id, "method", method, "params", parameters)), true)
                .get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        JsonNode node = answer.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
        if (node.has("error")) {
            throw new IllegalStateException(method + ": " + node.path("error"));
        }
        return node.path("result");
    }

    /** A window of this size, on a system with a light or a dark theme. */
    void window(int width, int height, boolean dark) throws Exception {
        call(
                "Emulation.setDeviceMetricsOverride",
                Map.of("width", width, "height", height, "deviceScaleFactor", 1, "mobile", false));
        String scheme = dark ? "dark" : "light";
        call(
                "Emulation.setEmulatedMedia",
                Map.of("features", List.of(Map.of("name", "prefers-color-scheme", "value", scheme))));
    }

    void open(String address, int width, int height, boolean dark) throws Exception {
        window(width, height, dark);
        call("Page.navigate", Map.of("url", address));
        waitFor(
                address,
                () -> evaluate("document.readyState === 'complete' && location.href !== 'about:blank'")
                        .asBoolean());
    }

    JsonNode evaluate(String expression) throws Exception {
        JsonNode node = call(
                "Runtime.evaluate",
                Map.of("expression", expression, "returnByValue", true, "awaitPromise", true, "userGesture", true));
        if (node.has("exceptionDetails")) {
            throw new IllegalStateException(expression + ": " + node.path("exceptionDetails"));
        }
        return node.path("result").path("value");
    }

    /** The numbers of the list that an expression answers with. */
    List<Double> numbers(String expression) throws Exception {
        return evaluate(expression).valueStream().map(JsonNode::doubleValue).toList();
    }

    String string(String expression) throws Exception {
        return evaluate(expression).asString();
    }

    int integer(String expression) throws Exception {
        return evaluate(expression).asInt();
    }

    double number(String expression) throws Exception {
        return evaluate(expression).doubleValue();
    }

    /** Asks for so many elements of a kind. */
    void has(int expected, String selector) throws Exception {
        assertThat(count(selector)).as(selector).isEqualTo(expected);
    }

    /** How many elements there are of a kind. */
    int count(String selector) throws Exception {
        return integer("document.querySelectorAll(\"" + selector + "\").length");
    }

    /** The text of the first of them. */
    String text(String selector) throws Exception {
        return string("document.querySelector(\"" + selector + "\").textContent");
    }

    /** Gives a control of the page a value, as somebody who uses it does. */
    void set(String id, Object value) throws Exception {
        evaluate("(e => { e.value = '" + value + "'; e.dispatchEvent(new Event('input', { bubbles: true }));"
                + " e.dispatchEvent(new Event('change')); })(document.getElementById('" + id + "'))");
    }

    void mouse(String type, double x, double y) throws Exception {
        String button = type.equals("mouseMoved") ? "none" : "left";
        call("Input.dispatchMouseEvent", Map.of("type", type, "x", x, "y", y, "button", button, "clickCount", 1));
    }

    @FunctionalInterface
    interface Condition {
        boolean holds() throws Exception;
    }

    static void waitFor(String what, Condition condition) throws Exception {
        long end = System.nanoTime() + Duration.ofSeconds(PATIENCE_SECONDS).toNanos();
        while (!condition.holds()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("waited " + PATIENCE_SECONDS + " s in vain for " + what);
            }
            Thread.sleep(30);
        }
    }

    @Override
    public void close() {
        socket.abort();
        ask("close/" + id);
        http.close();
    }

    private final class Ear implements WebSocket.Listener {
        private final StringBuilder text = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            text.append(data);
            if (last) {
                JsonNode node = JSON.readTree(text.toString());
                text.setLength(0);
                if (node.has("id")) {
                    answers.remove(node.path("id").asInt()).complete(node);
                } else if (COMPLAINTS.contains(node.path("method").asString())) {
                    console.add(node.toString());
                }
            }
            socket.request(1);
            return null;
        }
    }
}
