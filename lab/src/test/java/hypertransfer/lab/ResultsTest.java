package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** The tables of docs/RESULTS.md and docs/ARENA.md, and one of notes/LOG.md, are computed again, from the runs in docs/runs. */
class ResultsTest {
    private static final Path ROOT = Path.of("..");

    @TempDir
    static Path unpacked;

    @TempDir
    Path dir;

    @BeforeAll
    static void archivesAreUnpackedOnce() throws Exception {
        String program = "import sys; sys.path.insert(0, 'bench'); import results; results.unpack(sys.argv[1])";
        said(0, "python3", "-c", program, unpacked.toString());
    }

    @Test
    void tables() throws Exception {
        String results = Files.readString(ROOT.resolve("docs/RESULTS.md"));
        Path other = Files.writeString(
                dir.resolve("other.md"), results.replaceFirst("3[.]6583, 3[.]6583", "3.6583, 3.6584"));
        assertThat(said(
                        1,
                        "python3",
                        "bench/results.py",
                        "--runs=" + unpacked,
                        "docs/RESULTS.md",
                        "notes/LOG.md",
                        other.toString()))
                .startsWith(other + ": transfers is\n")
                .contains("3.6583, 3.6583")
                .containsOnlyOnce(" is\n");
    }

    /** The notebook may have them, and says which they are. */
    @Test
    void runsOfAProgramThatWasNotCommittedAreRefused() throws Exception {
        Path other = Files.writeString(
                dir.resolve("RESULTS.md"),
                Files.readString(ROOT.resolve("docs/RESULTS.md")) + "\n<!-- table short -->\n\nx\n\n<!-- end -->\n");
        assertThat(said(1, "python3", "bench/results.py", "--runs=" + unpacked, other.toString()))
                .contains("table short has runs of a program that was not committed: hypertransfer,");
        assertThat(Files.readString(ROOT.resolve("notes/LOG.md")))
                .contains("| M1 to zero: HyperTransfer of Muon (not committed) |");
    }

    /** The errors of predictions that RESULTS names, by the command that it names. */
    @Test
    void predictions() throws Exception {
        String results = Files.readString(ROOT.resolve("docs/RESULTS.md")).replace('\n', ' ');
        assertThat(results)
                .contains(predicted("paper-50m-m1/m1-muon-0.01-zero") + " on M1, "
                        + predicted("paper-50m-zero/muon-0.01-zero") + " on M2, "
                        + predicted("paper-50m-once/once-muon-0.0067") + " on text read once, "
                        + predicted("paper-50m-tenth/muon-0.003-tenth"))
                .contains("was fitted: " + predicted("gpt2-124m-5723/exp1-muon") + " on M1, "
                        + predicted("gpt2-124m-5723/exp2-zero-muon") + " on M2, "
                        + predicted("gpt2-124m-5723/exp2-tenth-muon"));
    }

    /** The tables of ARENA, by the commands that bench/arena.py names. */
    @Test
    void arena() throws Exception {
        StringBuilder lines = new StringBuilder();
        for (String study : List.of(
                "arena-853k/experiment",
                "arena-853k/seeds",
                "record-131k/experiment",
                "record-853k/experiment",
                "record-853k/seeds",
                "learned-131k/experiment")) {
            Path file = unpacked.resolve(study + ".yaml");
            JsonNode line = new Ht().json("reproduce", file, "--out", file.getParent());
            lines.append(line).append('\n');
        }
        Path read = Files.writeString(dir.resolve("lines"), lines);
        String arena = Files.readString(ROOT.resolve("docs/ARENA.md"));
        Path other = Files.writeString(
                dir.resolve("other.md"), arena.replaceFirst("[|] SOAP-Muon [|] 0", "| SOAP-Muon | 1"));
        assertThat(said(1, "sh", "-c", "python3 bench/arena.py docs/ARENA.md " + other + " <" + read))
                .startsWith(other + ": directions is\n")
                .containsOnlyOnce(" is\n");
    }

    private String predicted(String run) {
        JsonNode measured = new Ht().json("predict", unpacked.resolve(run)).get("measured");
        double end = measured.get("end_to_peak").asDouble();
        String error = "%.0f %%".formatted(100 * measured.get("effective").asDouble());
        return end < 0.01
                ? error
                : "%s to a tenth (%s%.3f predicted, %.3f measured)"
                        .formatted(
                                error,
                                run.startsWith("paper") ? "final over highest: " : "",
                                measured.get("predicted_end_to_peak").asDouble(),
                                end);
    }

    /** The commands are those of docs/runs/README.md, beside all runs that it unpacks. */
    @Test
    void intervalOverSeeds() throws Exception {
        String readme = Files.readString(ROOT.resolve("docs/runs/README.md"));
        List<String> commands = Pattern.compile("^    .*ht compare (.*?)\\)?$", Pattern.MULTILINE)
                .matcher(readme)
                .results()
                .map(found -> found.group(1).replace("out/paper-50m/", ""))
                .toList();
        assertThat(commands).hasSize(11);
        for (String runs : commands) {
            compared(said(0, "sh", "-c", "cd " + unpacked + " && printf '%s\\n' " + runs)
                    .lines()
                    .map(unpacked::resolve)
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
