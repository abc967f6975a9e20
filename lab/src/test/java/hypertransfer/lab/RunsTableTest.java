package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** What the notebook says of the runs at the paper's number of steps is computed again, from the files of these runs. */
class RunsTableTest {
    private static final Path ROOT = Path.of("..");

    @TempDir
    Path dir;

    /** The commands are those of docs/runs/README.md. */
    @Test
    void tables() throws Exception {
        String readme = Files.readString(ROOT.resolve("docs/runs/README.md"));
        List<String> commands = Pattern.compile(
                        "^    (python3 bench/runs_table.py.*?)\n\n", Pattern.MULTILINE | Pattern.DOTALL)
                .matcher(readme)
                .results()
                .map(found -> found.group(1))
                .toList();
        assertThat(commands).hasSize(3);
        for (String command : commands) {
            List<String> printed = said("sh", "-c", command)
                    .lines()
                    .filter(line -> !line.isBlank())
                    .toList();
            assertThat(printed).hasSizeGreaterThan(25);
            assertThat(Files.readAllLines(ROOT.resolve("notes/LOG.md"))).containsAll(printed);
        }
    }

    @Test
    void intervalOverSeeds() throws Exception {
        for (String name : List.of("zero", "seeds", "m1", "m1-seeds")) {
            said(
                    "python3",
                    "-m",
                    "tarfile",
                    "-e",
                    "docs/runs/paper-50m-" + name + ".tar.xz",
                    "" + dir.toAbsolutePath());
        }
        for (String network : List.of("", "m1-")) {
            compared(runs(network + "muonh-0.0125-zero"), runs(network + "muon-0.01-zero"));
        }
    }

    private static void compared(List<Path> ours, List<Path> theirs) throws Exception {
        JsonNode compared = new Ht().json("compare", ours, theirs);
        JsonNode difference = compared.at("/differences/0");
        assertThat(difference.get("pairs").asInt()).isEqualTo(3);
        String wanted = String.format(
                Locale.ROOT,
                "3 common seeds, 95 %% interval %+.4f to %+.4f, p = %.2f",
                difference.get("low").asDouble(),
                difference.get("high").asDouble(),
                difference.get("p").asDouble());
        assertThat(Files.readString(ROOT.resolve("notes/LOG.md"))).contains(wanted);
    }

    private List<Path> runs(String name) throws IOException {
        try (Stream<Path> all =
                Files.find(dir, 2, (path, is) -> path.getFileName().toString().startsWith(name))) {
            return all.sorted().toList();
        }
    }

    private static String said(String... command) throws Exception {
        try {
            new ProcessBuilder("python3", "--version").start().waitFor();
        } catch (IOException e) {
            Assumptions.abort("python3 is not installed, so the tables were not computed");
        }
        Process process = new ProcessBuilder(command)
                .directory(ROOT.toFile())
                .redirectErrorStream(true)
                .start();
        String said = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }
}
