package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A real terminal of 70 columns, as script(1) makes one. */
class PseudoTerminalTest {
    private static final Path SCRIPT = Path.of("/usr/bin/script");

    @TempDir
    Path dir;

    @Test
    void nothingThatIsShownWraps() throws Exception {
        assumeTrue(Files.isExecutable(SCRIPT), "there is no " + SCRIPT);
        String run = dir.resolve("run").toString();
        Stream<String> train = Stream.of("train", "../runs/muon.yaml", "--out", run);
        Path script = Files.writeString(
                dir.resolve("run.sh"),
                "set -e\nstty cols 70 rows 20\nunset COLUMNS NO_COLOR\nexport TERM=xterm\n"
                        + command(Stream.concat(train, Ht.TINY.stream()))
                        + command(Stream.of("compare", run, run, "--tensors"))
                        + command(Stream.of("predict", run)));
        String shown = Child.output(SCRIPT.toString(), "-qec", "sh " + script, "/dev/null");
        List<String> rows = Arrays.stream(shown.split("\r\n|\r|\n"))
                .map(row -> row.replaceAll("\u001b\\[[0-9]*[Km]", ""))
                .filter(row -> !row.startsWith("WARNING") && !row.contains(dir.toString()))
                .toList();
        assertThat(shown).as("colour, unless NO_COLOR").contains("\u001b[1mloss ");
        assertThat(rows)
                .anyMatch(row -> row.startsWith("step 00003/00003 (100.00%) | loss "))
                .anyMatch(row -> row.startsWith("momentum:blocks.0.mlp.p") || row.startsWith("…"))
                .anyMatch(row -> row.startsWith("    "))
                .noneMatch(row -> row.startsWith("{"));
        assertThat(rows).allMatch(row -> row.length() < 70);
    }

    private static String command(Stream<String> words) throws Exception {
        return Child.java(words.toArray()).stream()
                .map(word -> "'" + word + "'")
                .collect(Collectors.joining(" ", "", "\n"));
    }
}
