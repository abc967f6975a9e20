package hypertransfer.examples;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/** Runs the tests of the Python package, and builds the site, where what they need is there; says visibly where it is not. */
class PythonAndSiteTest {
    /** Looks for both without the seconds that importing PyTorch takes. */
    private static final String TORCH_AND_PYTEST =
            "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, ('torch', 'pytest'))))";

    @Test
    void testsOfThePackagePass() throws Exception {
        awaitInstallation();
        String python = Stream.of(System.getenv("HT_PYTHON"), "python3", "/usr/bin/python3")
                .filter(Objects::nonNull)
                .filter(candidate -> run(List.of(candidate, "-c", TORCH_AND_PYTEST)).code == 0)
                .findFirst()
                .orElse(null);
        if (python == null) {
            System.out.println("warning: no Python with torch and pytest was found; the Python package is not tested");
            Assumptions.abort("no Python with torch and pytest");
        }
        Ended ended = run(List.of(python, "-m", "pytest", "-q", "../python"));
        assertThat(ended.code).as(ended.text).isZero();
        System.out.println("python: " + ended.text.lines().toList().getLast());
    }

    /** The script fails where a link or its part is not there, or a page would load anything from a network. */
    @Test
    void theSiteIsBuilt() throws Exception {
        awaitInstallation();
        if (run(List.of("mkdocs", "--version")).code != 0) {
            System.out.println("warning: no mkdocs was found; the site is not built");
            Assumptions.abort("no mkdocs");
        }
        Ended ended = run(List.of("../site/build", "--quick"));
        assertThat(ended.code).as(ended.text).isZero();
        assertThat(ended.text).contains("links, all of them good");
        Files.delete(Path.of("../target/site/html/NOTATIONS.html"));
        Ended broken = run(List.of("../site/build", "--check"));
        assertThat(broken.code).isNotZero();
        assertThat(broken.text).contains("site: FAQ.html: NOTATIONS.html is not there");
    }

    /** A file is there once PyTorch and mkdocs are installed, or cannot be. */
    private static void awaitInstallation() throws InterruptedException {
        String ready = System.getenv("HT_PYTHON_READY");
        for (int waited = 0; ready != null && !Files.exists(Path.of(ready)) && waited < 240; waited++) {
            Thread.sleep(1_000);
        }
    }

    private record Ended(int code, String text) {}

    private static Ended run(List<String> command) {
        try {
            ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
            builder.environment().put("OMP_NUM_THREADS", "1"); // the other core has Maven's other tests
            Process process = builder.start();
            String text = new String(process.getInputStream().readAllBytes());
            return new Ended(process.waitFor(), text);
        } catch (IOException e) {
            return new Ended(-1, e.toString());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Ended(-1, e.toString());
        }
    }
}
