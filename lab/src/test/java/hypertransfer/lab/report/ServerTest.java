package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import hypertransfer.lab.Child;
import hypertransfer.lab.Ht;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

@Timeout(600)
class ServerTest {
    @TempDir
    Path folder;

    private Server server;
    private HttpClient client;

    @BeforeEach
    void open() {
        server = Server.open(folder, 0);
        client = HttpClient.newHttpClient();
    }

    @AfterEach
    void close() {
        server.close();
        client.shutdownNow();
    }

    @Test
    void linesRunsAndEndsArriveAsTheyHappen() throws Exception {
        SyntheticRun first =
                new SyntheticRun(folder.resolve("muon"), 0, "steps=20").begin().append(4, 1);
        Iterator<JsonNode> messages = events(server);
        assertThat(next(messages, "run").path("run").asString()).isEqualTo("muon");
        assertThat(next(messages, "lines").at("/training/step")).hasSize(3);
        first.append(6, 1);
        assertThat(next(messages, "lines").at("/training/step")).hasSize(2);
        SyntheticRun second = new SyntheticRun(folder.resolve("later"), 0, "steps=20", "target=../muon").finished();
        assertThat(next(messages, "run", "later").path("target").asString()).isEqualTo("muon");
        first.state("failed");
        assertThat(next(messages, "state", "failed").path("run").asString()).isEqualTo("muon");
        Files.delete(second.directory.resolve("config.yaml"));
        assertThat(next(messages, "gone").path("run").asString()).isEqualTo("later");
    }

    @Test
    void aTargetThatLiesElsewhereComesAlong() throws Exception {
        SyntheticRun.pairs(folder, 20);
        try (Server one = Server.open(folder.resolve("inverse"), 0)) {
            Iterator<JsonNode> messages = events(one);
            assertThat(next(messages, "run").path("run").asString()).isEqualTo("muonh");
            assertThat(next(messages, "run").path("target").asString()).isEqualTo("muonh");
        }
    }

    /** It was looked for once, when its follower was first seen. */
    @Test
    void aTargetMayComeLater() throws Exception {
        new SyntheticRun(folder.resolve("later"), 1e-3, "steps=20", "target=../muon").finished();
        Iterator<JsonNode> messages = events(server);
        assertThat(next(messages, "run").path("target").isNull()).isTrue();
        assertThat(next(messages, "lines").at("/training/step")).hasSize(20);
        SyntheticRun muon = new SyntheticRun(folder.resolve("muon"), 0, "steps=20").finished();
        assertThat(next(messages, "run").path("run").asString()).isEqualTo("muon");
        JsonNode again = next(messages, "run");
        assertThat(again.path("run").asString()).isEqualTo("later");
        assertThat(again.path("target").asString()).isEqualTo("muon");
        assertThat(next(messages, "gap").at("/training/steps").asInt()).isEqualTo(20);
        muon.state("failed");
        while (!next(messages, "state").path("state").asString().equals("failed")) {}
    }

    /** They became one run of the page. */
    @Test
    void runsBehindLinksAreNamedByTheirLinks(@TempDir Path elsewhere) throws Exception {
        for (String name : List.of("first", "second")) {
            Path there = elsewhere.resolve(name).resolve("run");
            new SyntheticRun(there, 0, "steps=20").finished();
            Files.createSymbolicLink(folder.resolve(name), there);
        }
        Iterator<JsonNode> messages = events(server);
        assertThat(next(messages, "run").path("run").asString()).isEqualTo("first");
        assertThat(next(messages, "run").path("run").asString()).isEqualTo("second");
    }

    @Test
    void aDamagedRunDoesNotEndTheOthers() throws Exception {
        SyntheticRun bad = new SyntheticRun(folder.resolve("bad"), 0, "steps=20").finished();
        Files.writeString(bad.directory.resolve("provenance.json"), "{]\n");
        new SyntheticRun(folder.resolve("good"), 0, "steps=20").finished();
        Iterator<JsonNode> messages = events(server);
        assertThat(next(messages, "damaged").path("message").asString()).contains("provenance.json is damaged");
        assertThat(next(messages, "run").path("run").asString()).isEqualTo("good");
        bad.finished();
        assertThat(next(messages, "run").path("run").asString()).as("repaired").isEqualTo("bad");
    }

    @Test
    void oneOddRunDoesNotHideTheOthers() throws Exception {
        SyntheticRun infinite = new SyntheticRun(folder.resolve("a"), 0, "steps=20").finished();
        Files.writeString(infinite.directory.resolve("config.yaml"), "\nstop_above: .inf\n");
        SyntheticRun rooted = new SyntheticRun(folder.resolve("b"), 0, "steps=20").finished();
        Files.writeString(rooted.directory.resolve("config.yaml"), "\ntarget: /\n", StandardOpenOption.APPEND);
        new SyntheticRun(folder.resolve("c"), 0, "steps=20").finished();
        next(events(server), "run", "c");
    }

    @Test
    void aFolderThatCannotBeListedIsTold() throws Throwable {
        new SyntheticRun(folder.resolve("muon"), 0, "steps=20").finished();
        next(events(server), "tick"); // what this needs is loaded before rights are given up
        Path closed = Files.createDirectories(folder.resolve("closed/inside")).getParent();
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("---------"));
        boolean root = Files.isReadable(closed);
        try {
            if (root) {
                actAs(NOBODY);
            }
            assertThat(next(events(server), "notice").path("messages").toString())
                    .contains(closed.toString());
        } finally {
            if (root) {
                actAs(0);
            }
            Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));
        }
    }

    private static final int NOBODY = 65_534;

    /** Lets the whole process have the rights of another user, until root asks to be itself again. */
    private static void actAs(int user) throws Throwable {
        Linker linker = Linker.nativeLinker();
        FunctionDescriptor type = FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT);
        MethodHandle seteuid = linker.downcallHandle(linker.defaultLookup().findOrThrow("seteuid"), type);
        assertThat((int) seteuid.invokeExact(user)).isZero();
    }

    @Test
    void aDirectoryThatGoesAwayIsTold() throws Exception {
        Path inner = Files.createDirectories(folder.resolve("inner"));
        try (Server one = Server.open(inner, 0)) {
            Iterator<JsonNode> messages = events(one);
            next(messages, "tick");
            Files.delete(inner);
            assertThat(next(messages, "notice").path("messages").toString()).contains("inner is not there any more");
        }
    }

    @Test
    void methodsAndPaths() throws Exception {
        HttpResponse<String> page = send("GET", "/");
        assertThat(page.statusCode()).isEqualTo(200);
        assertThat(page.headers().firstValue("Content-Type")).hasValue("text/html; charset=utf-8");
        assertThat(page.body()).contains("\"live\":true");
        for (String path : new String[] {"/", "/events"}) {
            HttpResponse<String> refused = send("POST", path);
            assertThat(refused.statusCode()).isEqualTo(405);
            assertThat(refused.headers().firstValue("Allow")).hasValue("GET, HEAD");
            HttpResponse<String> head = send("HEAD", path);
            assertThat(head.statusCode()).isEqualTo(200);
            assertThat(head.body()).isEmpty();
        }
        for (String path : new String[] {"/eventsX", "/events/", "/index.html"}) {
            assertThat(send("GET", path).statusCode()).isEqualTo(404);
        }
    }

    private HttpResponse<String> send(String method, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(request(server, path).uri())
                .method(method, HttpRequest.BodyPublishers.noBody())
                .build();
        return client.send(request, BodyHandlers.ofString());
    }

    @Test
    void anotherHostIsRefused() throws Exception {
        for (String path : new String[] {"/", "/events"}) {
            assertThat(raw(path, "rebound.example:" + server.port())).startsWith("HTTP/1.1 403");
            assertThat(raw(path, "127.0.0.1")).startsWith("HTTP/1.1 403");
        }
        assertThat(raw("/", "localhost:" + server.port())).startsWith("HTTP/1.1 200");
    }

    @Test
    void aPortInUseIsNamed() {
        assertThatThrownBy(() -> Server.open(folder, server.port()))
                .isInstanceOf(Refusal.class)
                .hasMessageMatching("cannot listen on port " + server.port()
                        + " of 127.0.0.1: Address already in use.*; give another with --port.*");
        assertThatThrownBy(() -> Server.open(folder, 70000))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("70000 is not a port number");
    }

    @Test
    void onlyTheLoopbackAddressIsBound() throws IOException {
        // On another address of the loopback network the port is still free.
        try (var other = new ServerSocket(server.port(), 1, InetAddress.getByAddress(new byte[] {127, 0, 0, 2}))) {
            assertThat(other.isBound()).isTrue();
        }
    }

    @Test
    void nothingIsWatchedThatIsNotThere() {
        Path nowhere = folder.resolve("nowhere");
        assertThat(new Ht().refused("watch", nowhere)).contains("there is no directory " + nowhere);
    }

    @Test
    void theCommandEndsWhenToldTo() throws Exception {
        new SyntheticRun(folder.resolve("muon"), 0, "steps=20").finished();
        Process process = new ProcessBuilder(Child.java("watch", folder, "--port", 0))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (BufferedReader out = process.inputReader()) {
            String line = out.readLine();
            assertThat(line).startsWith("watching " + folder + " at http://127.0.0.1:");
            // With a reader on the stream: it must not keep the process alive.
            URI events = URI.create(line.replaceAll(".*(http\\S+).*", "$1events"));
            var stream = client.send(HttpRequest.newBuilder(events).build(), BodyHandlers.ofLines());
            assertThat(stream.statusCode()).isEqualTo(200);
            process.toHandle().destroy(); // unlike Process.destroy, this leaves its output readable
            assertThat(process.waitFor(10, TimeUnit.MINUTES)).isTrue();
            assertThat(process.exitValue()).isEqualTo(143); // SIGTERM's, as SIGINT gives 130
            assertThat(out.readLine()).isNull();
        } finally {
            process.destroyForcibly();
        }
    }

    @Test
    void closingEndsTheStreams() throws Exception {
        new SyntheticRun(folder.resolve("muon"), 0, "steps=20").finished();
        HttpResponse<Stream<String>> stream = client.send(request(server, "/events"), BodyHandlers.ofLines());
        Iterator<String> lines = stream.body().iterator();
        assertThat(lines.next()).startsWith("data: ");
        server.close();
        assertThatThrownBy(() -> {
                    while (lines.hasNext()) {
                        lines.next();
                    }
                    throw new UncheckedIOException(new IOException("the stream ended")); // either way of ending is one
                })
                .hasRootCauseInstanceOf(IOException.class);
    }

    private Iterator<JsonNode> events(Server from) throws Exception {
        return client.send(request(from, "/events"), BodyHandlers.ofLines())
                .body()
                .filter(line -> line.startsWith("data: "))
                .map(line -> JsonMapper.shared().readTree(line.substring(6)))
                .iterator();
    }

    private static JsonNode next(Iterator<JsonNode> messages, String type) {
        JsonNode node = messages.next();
        while (!node.path("type").asString().equals(type)) {
            node = messages.next();
        }
        return node;
    }

    /** The next of a type that says this under the type's own name. */
    private static JsonNode next(Iterator<JsonNode> messages, String type, String value) {
        JsonNode node = next(messages, type);
        while (!node.path(type).asString().equals(value)) {
            node = next(messages, type);
        }
        return node;
    }

    private static HttpRequest request(Server server, String path) {
        return HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + server.port() + path))
                .build();
    }

    /** The JDK's client sets Host itself. */
    private String raw(String path, String host) throws IOException {
        try (var socket = new Socket(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), server.port())) {
            socket.getOutputStream()
                    .write(("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n")
                            .getBytes(StandardCharsets.US_ASCII));
            return new String(socket.getInputStream().readNBytes(12), StandardCharsets.US_ASCII);
        }
    }
}
