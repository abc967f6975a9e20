package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.log.Run;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What people type at a command line, and what they are told; each of these misled somebody. */
class WordsTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();
    private Path file;

    @BeforeEach
    void configuration() throws Exception {
        file = Ht.tiny(dir, "tiny", "steps: 3");
    }

    /** Who followed 'adamw.rate' set the wrong optimizer's rate. */
    @ParameterizedTest
    @CsvSource({"rate, matrices.rate", "lr, matrices.rate", "weight_decay, matrices.decay", "adamw.rat, adamw.rate"})
    void theNearestKey(String given, String nearest) {
        assertThat(ht.refused("train", file, "--set", given + "=1")).contains("the nearest is '" + nearest + "'");
    }

    /** Each was told of --set, and of the nearest key however far it was. */
    @ParameterizedTest
    @CsvSource({
        "train,--set,foo=1",
        "rates,--with,foo=1",
        "sweep,--grid,'foo=1,2'",
        "sweep,--grid,'model.zzzzzz=1,2'",
        "train,--set,matrices.groups.fc.quux=1"
    })
    void anUnknownKeyIsToldOfTheOptionThatGaveIt(String command, String option, String given) {
        String key = given.replaceFirst("=.*", "");
        boolean group = key.contains("groups");
        assertThat(ht.refused(command, file, option, given))
                .startsWith(group ? "ht: matrices.groups.fc" : "ht: " + option + ": ")
                .endsWith("unknown key '" + (group ? "quux" : key) + "'; 'ht presets --keys' prints every key");
    }

    @ParameterizedTest
    @CsvSource({"rates,--with,foo", "train,--set,foo"})
    void noKeyAndNoValue(String command, String option, String given) {
        assertThat(ht.refused(command, file, option, given))
                .isEqualTo("ht: " + option + " takes key=value, such as " + option
                        + " matrices.rate=0.02; it was given 'foo'");
    }

    @Test
    void aWholeNumberWithAnExponent() {
        assertThat(ht.fine("train", file, "--set steps=1e0 --out", dir.resolve("run")))
                .contains("; 1 step of");
        assertThat(ht.refused("train", file, "--set steps=1.5")).contains("a whole number is expected");
    }

    /** It said first how to continue what is not there. */
    @Test
    void aTransferOfNothing() {
        assertThat(ht.refused("transfer", dir.resolve("nope"), "--mode hypertransfer"))
                .contains("is not a run");
        assertThat(ht.out()).isEmpty();
    }

    @Test
    void whatIsRefusedDoesNotBegin() {
        ht.refused("train", file, "--set data.train=nowhere --out", dir.resolve("run"));
        assertThat(ht.out()).doesNotContain("run ");
    }

    @Test
    void everyKeyIsPrintedWithItsMeaning() {
        assertThat(ht.fine("presets --keys")).contains("  rate: 0.01           # the target's peak rate");
    }

    @Test
    void anUnknownCommandHasNoHelp() {
        assertThat(ht.refused("nosuch --help")).contains("unknown command 'nosuch'");
    }

    /** The hint after every run failed: there was no prompt. */
    @Test
    void theHintsWork() {
        Path run = dir.resolve("run");
        assertThat(ht.fine("train", file, "--out", run)).contains("ht sample " + run);
        assertThat(ht.fine("sample", run)).isNotBlank();
    }

    /** For a run elsewhere that is to begin with the same weights. */
    @Test
    void theWeightsOfTheStart() throws Exception {
        Path run = dir.resolve("run"), start = dir.resolve("start.safetensors"), other = dir.resolve("other");
        ht.fine("train", file, "--out", run);
        assertThat(ht.fine("export", run, "--out", start, "--step 0")).contains("at step 0");
        ht.fine("import", start, file, "--out", other);
        ht.fine("train", other);
        double first = Run.Curves.read(run, none -> {}).losses().get(0);
        assertThat(Run.Curves.read(other, none -> {}).losses().get(0)).isCloseTo(first, within(1e-6));
        assertThat(ht.refused("export", run, "--out", dir.resolve("x"), "--step 2"))
                .contains("has no checkpoint of step 2; it has those of [3]");
        assertThat(ht.refused("train", file, "--set from.run=nowhere --out", dir.resolve("x")))
                .contains("nowhere has no checkpoint of step 0; it has none."); // "those of []"
    }

    @Test
    void aSweepTrainsWhatCanBeTrained() {
        String grid = "--grid model.head=4,8 --grid model.width=8,12 --out";
        assertThat(ht.fine("sweep", file, grid, dir.resolve("sweep")))
                .contains(
                        "left out: model.head=8 model.width=12: ", "point 3 of 3: model.head=8 model.width=8", "best ");
    }

    /** A sweep of hours trained what was left, without the value that was meant. */
    @ParameterizedTest
    @ValueSource(strings = {"nosuch", "muon,nosuch,adam", "nosuch,muon --grid rate=0.01,0.02"})
    void aSweepRefusesAValueWithWhichNothingCanBeTrained(String directions) {
        Path out = dir.resolve("sweep");
        assertThat(ht.refused("sweep", file, "--grid direction=" + directions, "--out", out))
                .contains("matrices.direction is 'nosuch'");
        assertThat(out).doesNotExist();
    }

    /** A JSON line of kilobytes followed the text as soon as the output was a pipe. */
    @Test
    void textOrJson() {
        assertThat(ht.fine("predict", file)).doesNotContain("{");
        assertThat(ht.fine("predict", file, "--json")).startsWith("{").hasLineCount(1);
    }

    /** Every step was a line: a sweep of 20 small runs had 850. */
    @Test
    void aPipeHasALinePerValidation() {
        assertThat(ht.fine("train", file, "--out", dir.resolve("run")).lines().filter(line -> line.startsWith("step ")))
                .hasSize(2)
                .allMatch(line -> line.contains("validation"));
    }
}
