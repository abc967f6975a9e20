package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import tools.jackson.databind.JsonNode;

/** What helps a newcomer: presets, a first configuration, what it takes, completion. */
class StartTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();

    @Test
    void presetsAreListedForPeopleAndPrograms() {
        assertThat(ht.fine("presets").lines().toList())
                .allMatch(line -> line.length() < 80)
                .anyMatch(line -> line.matches("gpt2-124m +162,221,568 +50304 .* 524,288 +5,723"))
                .anyMatch(line -> line.matches("paper-50m +49,255,680 +50304 .* 49,152 +5,723"));
        JsonNode rows = ht.json("presets", "--json");
        assertThat(rows).hasSize(6);
        assertThat(rows.get(0).path("parameters").asInt()).isEqualTo(853_248);
        assertThat(rows.get(4).path("parameters_without_head").asInt()).isEqualTo(123_588_096);
    }

    /** The files of {@code runs/} that are no experiments. */
    static List<Path> configurations() throws Exception {
        List<Path> found = ExperimentTest.runs(false);
        assertThat(found).hasSizeGreaterThan(5);
        return found;
    }

    /** Each configuration of {@code runs/} trains, and says in its first line what it is. */
    @ParameterizedTest
    @MethodSource("configurations")
    void theExamplesTrain(Path file) throws Exception {
        assertThat(Files.readAllLines(file).getFirst())
                .startsWith("# ")
                .endsWith("ht train runs/" + file.getFileName());
        ht.fine("train", file, "--out", dir.resolve("run"), Ht.TINY);
    }

    @Test
    void aDryRunSaysWhatItTakesAndWritesNothing() throws Exception {
        Path run = dir.resolve("run");
        assertThat(ht.fine("train ../runs/muon.yaml --out", run, Ht.TINY, "--dry-run"))
                .containsPattern("parameters +11,328 \\(7,232 without the head\\)")
                .containsPattern("tokens +96: 3 steps of 32; the corpus has [\\d,]+ and is read ")
                .containsPattern("time +\\d+:\\d\\d: .* s per step \\(3 measured\\)")
                .containsPattern("total +[\\d.]+ MiB");
        assertThat(ht.fine("train ../runs/muon.yaml --out", run, Ht.TINY, "--set steps=1 --dry-run"))
                .containsPattern("tokens +32: 1 step of 32; ");
        assertThat(run).doesNotExist();
        JsonNode answer = ht.json("train ../runs/muon.yaml --out", run, Ht.TINY, "--dry-run --json");
        assertThat(answer.path("parameters").asInt()).isEqualTo(11_328);
        assertThat(answer.path("tokens").asInt()).isEqualTo(96);
        assertThat(answer.path("bytes").asLong()).isGreaterThan(4 * 11_328);
        assertThat(answer.path("seconds").asDouble()).isPositive();
        assertThat(run).doesNotExist();
        assertThat(ht.refused("train ../runs/muon.yaml --out", run, Ht.TINY, "--json"))
                .contains("--json needs --dry-run");
    }

    @Test
    void runsAreListedForPrograms() throws Exception {
        ht.fine("train ../runs/muon.yaml --out", dir.resolve("out/a"), Ht.TINY);
        ht.fine("transfer", dir.resolve("out/a"), "--mode hypertransfer");
        assertThat(ht.out()).contains("next: ht report ", "ht compare ");
        assertThat(ht.out()).doesNotContain("warning:");
        String other = "--mode hypertransfer --set seed=7 --set checkpoint.every=2 --out";
        assertThat(ht.fine("transfer", dir.resolve("out/a"), other, dir.resolve("other")))
                .contains("warning: --set seed makes this another run than its target");
        JsonNode rows = ht.json("runs", dir.resolve("out"), "--json");
        assertThat(rows).hasSize(2);
        assertThat(rows.get(0).path("state").asString()).isEqualTo("finished");
        assertThat(rows.get(0).path("gap").isNull()).isTrue();
        assertThat(rows.get(1).path("step").asInt()).isEqualTo(3);
        assertThat(rows.get(1).path("gap").asDouble()).isLessThan(1e-9);
    }

    /** As bash itself completes. */
    @Test
    void bashCompletesCommandsOptionsAndValues() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/bin/bash")), "there is no bash");
        Path script = Files.writeString(dir.resolve("completion"), ht.fine("completion", "bash"));
        assertThat(complete(script, "ht", "tra")).containsExactlyInAnyOrder("train", "transfer");
        assertThat(complete(script, "ht", "transfer", "--mo")).containsExactly("--mode");
        assertThat(complete(script, "ht", "transfer", "--mode", "inv"))
                .containsExactlyInAnyOrder("inverse-hypertransfer", "inverse-hypertransfer-plus");
        assertThat(ht.fine("completion", "zsh")).startsWith("autoload -U +X compinit");
        assertThat(ht.run("completion", "fish")).isEqualTo(2);
    }

    private static List<String> complete(Path script, String... words) throws Exception {
        String line = String.join(" ", words);
        String ask = ". " + script + "\ncompopt() { :; }\nCOMP_WORDS=(" + line + ")\nCOMP_CWORD=" + (words.length - 1)
                + "\nCOMP_LINE='" + line + "'\nCOMP_POINT=" + line.length()
                + "\n_complete_ht\nprintf '%s\\n' \"${COMPREPLY[@]}\"";
        return Child.output("/bin/bash", "-c", ask)
                .lines()
                .map(String::strip)
                .filter(answer -> !answer.isEmpty())
                .toList();
    }
}
