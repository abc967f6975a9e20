package hypertransfer.lab.report;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Folder;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** A page on paper: an installed browser prints it, by the page's own rules for print. */
public final class Paper {
    private static final List<String> NAMES =
            List.of("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "microsoft-edge");
    private static final Path MAC = Path.of("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome");
    private static final List<String> OPTIONS =
            List.of(("--headless --disable-gpu --no-first-run --no-pdf-header-footer"
                            + " --disable-background-networking --disable-component-update")
                    .split(" "));
    private static final Duration LIMIT = Duration.ofSeconds(60);

    private Paper() {}

    /** The browser on this search path that can print without a window, if there is one. */
    static Optional<Path> browser(String searchPath) {
        Stream<Path> named = Arrays.stream(searchPath.split(File.pathSeparator))
                .filter(folder -> !folder.isEmpty())
                .flatMap(folder -> NAMES.stream().map(name -> Path.of(folder, name)));
        return Stream.concat(named, Stream.of(MAC)).filter(Files::isExecutable).findFirst();
    }

    /** Prints to a PDF, which is there whole or not at all. */
    public static void print(Path page, Path pdf) {
        Path browser = browser(Optional.ofNullable(System.getenv("PATH")).orElse(""))
                .orElseThrow(() -> new Refusal("none of " + String.join(", ", NAMES)
                        + " is installed here, so nothing can print; open " + page + " in any browser and print it"));
        print(browser, LIMIT, page, pdf);
    }

    static void print(Path browser, Duration limit, Path page, Path pdf) {
        try {
            Path folder = Files.createTempDirectory("ht-print");
            try {
                byte[] bytes = printed(browser, limit, page, folder);
                Atomic.write(Atomic.placed(pdf), channel -> Atomic.writeFully(channel, ByteBuffer.wrap(bytes)));
            } finally {
                Folder.delete(folder);
            }
        } catch (IOException e) {
            throw new Refusal("cannot print " + page + ": " + Atomic.reason(e), e);
        }
    }

    private static byte[] printed(Path browser, Duration limit, Path page, Path folder) throws IOException {
        Path pdf = folder.resolve("page.pdf"), said = folder.resolve("said.txt");
        List<String> command = new ArrayList<>(List.of(browser.toString()));
        command.addAll(OPTIONS);
        command.addAll(List.of(
                "--user-data-dir=" + folder.resolve("profile"),
                "--print-to-pdf=" + pdf,
                page.toUri().toString()));
        if ("root".equals(System.getProperty("user.name"))) { // whom Chromium refuses to shut in
            command.add(1, "--no-sandbox");
        }
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(said.toFile())
                .start();
        try {
            if (!process.waitFor(limit)) {
                throw new Refusal(browser + " has not printed within " + limit.toSeconds() + " s and was stopped; open "
                        + page + " in a browser and print it");
            }
            if (process.exitValue() == 0 && Files.exists(pdf)) {
                return Files.readAllBytes(pdf);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly().onExit().join();
        }
        throw new Refusal(browser + " printed nothing; open " + page + " in a browser and print it; it said: "
                + Files.readString(said).strip());
    }
}
