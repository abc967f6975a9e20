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

/** The tables of docs/RESULTS.md are computed again, from the runs in docs/runs. */
class ResultsTest {
    private static final Path ROOT = Path.of("..");

    @TempDir
    Path dir;

    @Test
    void tables() throws Exception {
        String results = Files.readString(ROOT.resolve("docs/RESULTS.md"));
        Path other = Files.writeString(
                dir.resolve("other.md"), results.replaceFirst("3[.]6583, 3[.]6583", "3.6583, 3.6584"));
        assertThat(said(1, "python3", "bench/results.py", "docs/RESULTS.md", other.toString()))
                .startsWith(other + ": transfers is\n")
                .contains("3.6583, 3.6583")
                .containsOnlyOnce(" is\n");
    }

    /** The commands are those of docs/runs/README.md, beside all runs that it unpacks. */
    @Test
    void intervalOverSeeds() throws Exception {
        said(
                0,
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
        assertThat(commands).hasSize(7);
        for (String runs : commands) {
            compared(said(0, "sh", "-c", "cd " + dir.toAbsolutePath() + " && printf '%s\\n' " + runs)
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
                "(%+.4f to %+.4f)",
                difference.get("low").asDouble(),
                difference.get("high").asDouble());
        assertThat(Files.readString(ROOT.resolve("docs/RESULTS.md"))).contains(wanted);
    }

    private static String said(int status, String... command) throws Exception {
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
        assertThat(process.waitFor()).as(said).isEqualTo(status);
        return said;
    }
}
