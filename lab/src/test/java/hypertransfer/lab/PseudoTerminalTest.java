package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

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
                .anyMatch(row -> row.startsWith("momentum:bl…proj.weight") || row.startsWith("…"))
                .anyMatch(row -> row.startsWith("    "))
                .noneMatch(row -> row.startsWith("{"));
        assertThat(rows).allMatch(row -> row.length() < 70);
    }

    /** What people decide by; after the bar, what must be shown at any width, as a pattern of the words. */
    private static final String ITEMS = """
            train muon.yaml --out out/muon-1 --set seed=1 | step 00003/00003 .* next: ht report out/muon-1 .*ht transfer
            train muon.yaml --out out/muon-2 --set seed=2 | validation|val
            train lion.yaml --out out/lion-1 --set seed=1 | loss
            train lion.yaml --out out/lion-2 --set seed=2 | loss
            compare out/muon-1 out/lion-1 | peak rate mean rate .*end/peak .*rates that differ .*with: ht fair out/lion-1 out/muon-1
            compare out --baseline out/lion-1 | same tokens .*muon - lion at step 3: .*2 common seeds: 95 % interval
            runs out | mean rate .*out/lion-1 finished .*out/muon-2
            sweep muon.yaml --grid model.head=4,8 --grid model.width=8,12 --out o/s | left out: model.head=8 model.width=12: .*best [0-9.]+ with
            fair out/muon-1 out/lion-1 --out o/f | each at its own rates.*fair: each at the effective rates of muon-1, .*share lion-1 .*\\d %
            reproduce two.yaml --out o/e | rank validation angle end/peak .*mean over matrices and seeds .*twin has all losses of muon
            train muon.yaml --dry-run | parameters 4,896 .*time [0-9:]+: .* s per step
            transfer out/muon-1 --mode hypertransfer | gap to the target: .*angle to the target .*next: ht report
            transfer out/nope --mode hypertransfer | ^ht: out/nope is not a run: .*lists the runs there are$
            train muon.yaml --set rate=1 | ^ht: --set: unknown key 'rate'; the nearest is 'matrices.rate'$
            train muon.yaml --set data.train=nowhere --out o/n | ^ht: there is no shard nowhere in /.*; name where it is, .*tokenize$
            train muon.yaml --set adamw.rate=9 --set stop_above=6 --out o/d | the run has diverged; .*lower adamw.rate
            nosuch --help | ^ht: unknown command 'nosuch'; .*options$
            export out/muon-1 --out start.safetensors --step 0 | the weights of out/muon-1 at step 0
            sample out/muon-1 --tokens 4 | .
            train muon.yaml --set steps=1e0 --out o/one | step 00001/00001
            """;

    @ParameterizedTest
    @ValueSource(ints = {80, 200, 0})
    void everyItem(int columns) throws Exception {
        assumeTrue(Files.isExecutable(SCRIPT), "there is no " + SCRIPT);
        String shown = shown(columns);
        for (String item : ITEMS.lines().toList()) {
            String command = item.substring(0, item.indexOf(" | ")), wanted = item.substring(item.indexOf(" | ") + 3);
            int from = shown.indexOf(Several.BEGINS + command) + Several.BEGINS.length() + command.length();
            String text =
                    shown.substring(from, shown.indexOf(Several.ENDS, from)).strip();
            List<String> rows = Arrays.stream(text.split("\r\n|\r|\n"))
                    .map(row -> row.replaceAll("\u001b\\[[0-9]*[Km]", ""))
                    .toList();
            assertThat(String.join(" ", rows).replace("\\ ", " ").replaceAll("\\s+", " "))
                    .as("%s in %d columns", command, columns)
                    .containsPattern(wanted)
                    .doesNotContain("this is a bug");
            if (columns == 0) {
                assertThat(text).as(command).doesNotContain("\u001b", "\r", "█");
            } else {
                assertThat(rows)
                        .as("%s in %d columns", command, columns)
                        .filteredOn(
                                row -> row.length() >= columns && !row.matches(".*: file:///.*")) // which stays whole
                        .isEmpty();
                assertThat(text.contains("█ step "))
                        .as("a bar where there is room")
                        .isEqualTo(columns == 200 && text.contains("step 0000") && !text.contains("diverged"));
            }
        }
        assertThat(shown.contains("# its curves as a page")).isTrue();
        assertThat(shown.contains("# the same losses in the other space"))
                .as("a remark that does not fit is left out")
                .isEqualTo(columns != 80);
    }

    /** All that the items print on a terminal of so many columns; with none, in a pipe. */
    private String shown(int columns) throws Exception {
        Ht.tiny(dir, "muon", "steps: 3", "matrices: {rate: 0.02}");
        Ht.tiny(dir, "lion", "steps: 3", "matrices: {rate: 0.0002, direction: lion}");
        Files.writeString(dir.resolve("two.yaml"), Ht.EXPERIMENT);
        String items =
                ITEMS.lines().map(line -> line.replaceFirst(" \\|.*", "\n")).collect(Collectors.joining());
        Files.writeString(dir.resolve("items.txt"), items);
        List<String> java = new ArrayList<>(Child.java("items.txt"));
        java.set(java.indexOf(Main.class.getName()), Several.class.getName());
        Path script = Files.writeString(
                dir.resolve("run.sh"),
                "cd " + dir + "\nunset COLUMNS NO_COLOR\nexport TERM=xterm\n"
                        + (columns == 0 ? "" : "stty cols " + columns + " rows 20\n")
                        + quoted(java));
        return columns == 0
                ? Child.output("sh", script.toString())
                : Child.output(SCRIPT.toString(), "-qec", "sh " + script, "/dev/null");
    }

    private static String command(Stream<String> words) {
        return quoted(Child.java(words.toArray()));
    }

    private static String quoted(List<String> words) {
        return words.stream().map(word -> "'" + word + "'").collect(Collectors.joining(" ", "", "\n"));
    }
}
