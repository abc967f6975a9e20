package hypertransfer.lab.report;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandlers;
import com.sun.net.httpserver.HttpServer;
import hypertransfer.core.Refusal;
import hypertransfer.train.log.Run;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.BindException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import tools.jackson.databind.json.JsonMapper;

/** The live page and its stream of messages, on 127.0.0.1 and nowhere else. Every reader of the stream reads the files itself. */
public final class Server implements AutoCloseable {
    private static final long POLL_MILLIS = 400;
    private static final String TICK = "{\"type\":\"tick\"}";

    private final Path place;
    private final Map<Path, Path> linked = new ConcurrentHashMap<>(); // real directories, and where they were found
    private final HttpServer http;
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();

    private record Damage(String message, String stamp) {}

    private Server(Path place, HttpServer http) {
        this.place = place;
        this.http = http;
    }

    /** Serves the runs under {@code place}; port 0 takes a free one. */
    public static Server open(Path place, int port) {
        if (port < 0 || port > 65535) {
            throw new Refusal(port + " is not a port number; give one from 0 to 65535");
        }
        try {
            var address = new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), port);
            var server = new Server(place.toRealPath(), HttpServer.create(address, 0));
            server.http.createContext("/", server::answer);
            server.http.setExecutor(server.threads);
            server.http.start();
            return server;
        } catch (BindException e) {
            String why = "cannot listen on port " + port + " of 127.0.0.1: " + e.getMessage();
            throw new Refusal(why + "; give another with --port, or 0 for any free one", e);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public int port() {
        return http.getAddress().getPort();
    }

    /** Ends all streams; returns when their threads are done. */
    @Override
    public void close() {
        threads.shutdownNow();
        http.stop(0);
        threads.close();
    }

    /**
     * The page, its stream, or a refusal: a page of another site could reach us through a name of its own that resolves to
     * 127.0.0.1, its Host gives it away.
     */
    private void answer(HttpExchange exchange) {
        try (exchange) {
            String host = exchange.getRequestHeaders().getFirst("Host");
            String path = exchange.getRequestURI().getPath(), method = exchange.getRequestMethod();
            Headers headers = exchange.getResponseHeaders();
            headers.set("Cache-Control", "no-store");
            headers.set("X-Content-Type-Options", "nosniff");
            if (!Set.of("127.0.0.1:" + port(), "localhost:" + port()).contains(String.valueOf(host))) {
                answer(exchange, 403, "text/plain", "ask http://127.0.0.1:" + port() + "/, not " + host + "\n");
            } else if (!Set.of("/", "/events").contains(path)) {
                answer(exchange, 404, "text/plain", "only / is here\n");
            } else if (!Set.of("GET", "HEAD").contains(method)) {
                headers.set("Allow", "GET, HEAD");
                answer(exchange, 405, "text/plain", "only GET and HEAD are answered here\n");
            } else if (path.equals("/")) {
                answer(exchange, 200, "text/html", Page.live());
            } else {
                headers.set("Content-Type", "text/event-stream");
                exchange.sendResponseHeaders(200, method.equals("HEAD") ? -1 : 0);
                if (method.equals("GET")) {
                    stream(exchange.getResponseBody());
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // closing
        } catch (IOException e) {
            // The reader went away; there is nobody left to tell.
        }
    }

    private void stream(OutputStream out) throws IOException, InterruptedException {
        var feeds = new LinkedHashMap<Path, Messages>();
        var damaged = new HashMap<Path, Damage>();
        List<String> told = List.of();
        Set<Path> known = Set.of();
        send(out, TICK); // the first reading may take a while
        while (true) {
            var runs = new TreeSet<Path>();
            List<String> notices = find(runs);
            for (Path run : List.copyOf(feeds.keySet())) {
                if (!Run.in(run)) {
                    feeds.remove(run);
                    send(out, Report.message("gone", name(run), "deleted"));
                }
            }
            runs.addAll(feeds.keySet()); // also targets that lie elsewhere
            if (!notices.equals(told)) {
                told = notices;
                send(out, JsonMapper.shared().writeValueAsString(Map.of("type", "notice", "messages", notices)));
            }
            boolean more = !feeds.keySet().equals(known); // a run that follows none may follow a new one
            known = Set.copyOf(feeds.keySet());
            for (Path run : runs) {
                poll(run, more, feeds, damaged, out);
            }
            send(out, TICK); // also tells whether the reader is still there
            Thread.sleep(POLL_MILLIS);
        }
    }

    /** Adds the runs there are now; returns what the reader must be told about those that cannot be found. */
    private List<String> find(Set<Path> runs) {
        try {
            if (!Files.isDirectory(place)) {
                return List.of(place + " is not there any more");
            }
            var unlisted = new ArrayList<String>();
            for (Run run : Run.under(place, unlisted::add)) {
                Path real = Report.real(run.directory());
                linked.put(real, run.directory());
                runs.add(real);
            }
            return unlisted;
        } catch (RuntimeException e) {
            return List.of(Report.sentence(e));
        }
    }

    /** One damaged run must not end the others: the page gets a sentence for it, and it is read again when its files change. */
    private void poll(Path run, boolean more, Map<Path, Messages> feeds, Map<Path, Damage> damaged, OutputStream out)
            throws IOException {
        Run files = new Run(run);
        Damage damage = damaged.get(run);
        if (damage != null && damage.stamp.equals(files.stamp())) {
            return;
        }
        try {
            Messages feed = feeds.get(run);
            if (feed == null && !Files.exists(files.file(Run.PROVENANCE))) {
                return; // a run that is just being started
            }
            Optional<Path> target =
                    feed == null || more && feed.target == null ? Report.target(files) : Optional.empty();
            if (feed == null || target.isPresent()) {
                double share = 1.0 / Math.max(feeds.size() + 1, linked.size());
                feed = new Messages(name(run), target.map(this::name).orElse(null), files, share);
                feeds.put(run, feed);
                if (target.isPresent() && !feeds.containsKey(target.get())) {
                    poll(target.get(), more, feeds, damaged, out);
                }
            }
            feed.read(message -> send(out, message));
            damaged.remove(run);
        } catch (RuntimeException e) {
            feeds.remove(run);
            Damage now = new Damage(Report.sentence(e), files.stamp()), before = damaged.put(run, now);
            if (before == null || !before.message.equals(now.message)) {
                send(out, Report.message("damaged", name(run), now.message));
            }
        }
    }

    /** The path inside the watched directory: unlike the shortest name, it stays when more runs appear. */
    private String name(Path run) {
        Path there = linked.getOrDefault(run, run);
        boolean inside = there.startsWith(place) && !there.equals(place);
        return (inside ? place.relativize(there) : run.getFileName()).toString();
    }

    private static void send(OutputStream out, String message) throws IOException {
        out.write(("data: " + message + "\n\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    private static void answer(HttpExchange exchange, int status, String type, String text) throws IOException {
        HttpHandlers.of(status, Headers.of("Content-Type", type + "; charset=utf-8"), text)
                .handle(exchange);
    }
}
