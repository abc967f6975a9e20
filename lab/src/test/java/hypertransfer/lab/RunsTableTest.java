package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
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

    /** The commands are those of docs/runs/README.md, beside all runs that it unpacks. */
    @Test
    void intervalOverSeeds() throws Exception {
        said(
                "sh",
                "-c",
                "for f in docs/runs/paper-50m-*.tar.xz; do python3 -m tarfile -e $f " + dir.toAbsolutePath()
                        + "; done");
        String readme = Files.readString(ROOT.resolve("docs/runs/README.md"));
        List<String> commands = Pattern.compile("^    .*ht compare (.*?)\\)?$", Pattern.MULTILINE)
                .matcher(readme)
                .results()
                .map(found -> found.group(1).replace("out/paper-50m/", ""))
                .toList();
        assertThat(commands).hasSize(6);
        for (String runs : commands) {
            compared(said("sh", "-c", "cd " + dir.toAbsolutePath() + " && printf '%s\\n' " + runs)
                    .lines()
                    .map(dir::resolve)
                    .toList());
        }
    }

    private static void compared(List<Path> runs) throws Exception {
        JsonNode compared = new Ht().json("compare", runs);
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
