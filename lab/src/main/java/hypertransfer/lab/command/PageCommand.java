package hypertransfer.lab.command;

import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.report.Page;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

@Command(
        name = "page",
        description = "Opens a page that computes norms, effective rates and the rate that another optimizer needs.",
        footer = {
            "  ht page                     in your browser; no server, no network",
            "  ht page --out rates.html    one file, to keep or to send",
            "",
            "Paste the line that makes your optimizer, move the sliders, copy the answer. The",
            "address keeps your choice. 'ht predict' and 'ht rates' give the same numbers."
        })
public final class PageCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Option(
            names = "--out",
            paramLabel = "FILE",
            description = "Write this file and open nothing (default: a file in your cache folder, opened).")
    private Path out;

    @Override
    public void run() {
        Map<String, String> environment = System.getenv();
        Path file = out == null ? cached(environment) : Options.Out.file("--out", out);
        Page.calculator(file);
        PrintWriter print = spec.commandLine().getOut();
        print.println("the page: " + file.toAbsolutePath().normalize().toUri());
        if (out == null && !opened(file, environment)) {
            print.println("there is no screen here; open that address in a browser");
        }
    }

    private static Path cached(Map<String, String> environment) {
        String cache = environment.getOrDefault("XDG_CACHE_HOME", "");
        Path root = cache.isBlank() ? Path.of(System.getProperty("user.home"), ".cache") : Path.of(cache);
        return root.resolve("hypertransfer").resolve("page.html");
    }

    /** Whether the desktop's own program for opening files was started. It is not waited for: some end with the browser. */
    private static boolean opened(Path file, Map<String, String> environment) {
        boolean mac = System.getProperty("os.name").startsWith("Mac");
        if (!mac && !environment.containsKey("DISPLAY") && !environment.containsKey("WAYLAND_DISPLAY")) {
            return false;
        }
        try {
            new ProcessBuilder(mac ? "open" : "xdg-open", file.toString())
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            return true;
        } catch (IOException e) { // it is not installed
            return false;
        }
    }
}
