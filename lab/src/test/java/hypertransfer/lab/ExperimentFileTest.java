package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.experiment.Experiment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Experiment files that were taken as something else, or ended as a bug. */
class ExperimentFileTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();

    private String refused(String text) throws Exception {
        Path file = Files.writeString(dir.resolve("mine.yaml"), text);
        String sentence = ht.refused("reproduce", file, "--out", dir.resolve("out"), Ht.TINY);
        assertThat(sentence).startsWith("ht: " + file);
        assertThat(dir.resolve("out")).doesNotExist();
        return sentence;
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            # misspelt keys were ignored, and a run named twice kept the last
            {a: {setings: [steps=5]}}           | unknown key 'runs.a.setings'; the keys there are
            {a: {settings: [], folows: zzz}}    | unknown key 'runs.a.folows'; the keys there are
            {a: {settings: []}, a: {settings: []}} | the key "a" is there twice
            # these were NullPointerExceptions
            {a: }                               | runs.a has no value
            {a: {settings: [steps=5, ]}, b: {settings: [~]}} | runs.b.settings holds '~', which is not key=value
            {}                                  | runs has no run
            # these were written outside --out
            {../../x: {settings: []}}           | the run '../../x' needs a name of letters, digits
            {/tmp/x: {settings: []}}            | the run '/tmp/x' needs a name
            {..: {settings: []}}                | the run '..' needs a name
            {"a\\0b": {settings: []}}          | needs a name of letters
            {a: {follows: b, settings: []}}     | run a needs run b, which must stand above it
            # these were told as bugs
            {a: {follows: out/b}}               | run a needs run out/b, which must stand above it
            {a: {recorded_of: out/b}}           | run a needs run out/b, which must stand above it
            {a: {settings: steps=5}}            | runs.a.settings:
            {a: {settings: [[steps=5]]}}        | is not an experiment
            # these named neither the file nor the run, and the first one --set
            {a: {}, b: {settings: [matrices.rat=1]}} | mine.yaml: runs.b.settings: unknown key 'matrices.rat'; the nearest is
            {a: {}, b: {settings: [matrices.rate=-1]}} | mine.yaml: run b: matrices
            """)
    void runs(String runs, String problem) throws Exception {
        assertThat(refused("title: t\nsettings: []\npresets: {}\nruns: " + runs + "\n"))
                .contains(problem);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {b: }                               | again.b has no value
            {b: {of: [c]}}                      | again.b.of names 'c', which is no run
            {b: {recorded_of: c}}               | run a-b needs run c, which must stand above it
            {b: {follows: c}}                   | run a-b needs run a-c, which must stand above it
            {b: {of: [a]}, c: {of: [a], folows: b}} | unknown key 'again.c.folows'; the keys there are
            {x: {}}                             | again.x makes a run a-x, and there is one of that name
            {b/c: {}}                           | the run 'a-b/c' needs a name
            """)
    void again(String again, String problem) throws Exception {
        assertThat(refused("title: t\npresets: {}\nruns: {a: {}, a-x: {}}\nagain: " + again + "\n"))
                .contains(problem);
        assertThat(refused("title: t\npresets: {}\nruns: {a: {}}\nseeds: 0\n")).contains("seeds is 0");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {demo: }                            | presets.demo has no value
            {demo: {runs: {b: [steps=3]}}}      | presets.demo.runs names 'b', which is no run
            {demo: {runs: {a: }}}               | presets.demo.runs.a must be a list
            {demo: {setting: []}}               | unknown key 'presets.demo.setting'; the keys there are
            """)
    void presets(String presets, String problem) throws Exception {
        assertThat(refused("title: t\nsettings: []\nruns: {a: {settings: []}}\npresets: " + presets + "\n"))
                .contains(problem);
    }

    /** These were told in Jackson's words, with the names of classes; the last was found when the run before was trained. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            seeds: x                            | line 3: seeds: a whole number is expected, not "x"
            seeds: 1.5                          | seeds: a whole number is expected, not 1.5
            seeds: 99999999999                  | seeds: the number 99999999999 is out of range
            settings: 3                         | settings: a list is expected, not a number
            settings: {a: 3}                    | settings: a list is expected, not a group of keys
            settings: [[1]]                     | something follows where it should end
            weights: maybe                      | weights: true or false is expected, not "maybe"
            again: [b]                          | again: a group of keys is expected, not a list
            again: {b: 3}                       | again.b: a group of keys is expected, not 3
            again: {b: {of: 3}}                 | again.b.of: a list is expected, not a number
            again: {b: {recorded_of: [a]}}      | again.b.recorded_of: a text is expected, not a list
            again: {b: {series: foo}}           | run a-b: the series is 'foo'; it must be rate, effective or replay
            """)
    void types(String line, String problem) throws Exception {
        assertThat(refused("title: t\nruns: {a: {}}\n" + line + "\npresets: {}\n"))
                .contains(problem)
                .doesNotContain("Cannot", "`", "Coerc", "JsonToken");
        assertThat(refused("title: t\nruns: [a]\npresets: {}\n"))
                .contains("line 2: runs: a group of keys is expected, not a list");
        assertThat(refused("title: t\nruns: {a: {}}\npresets: {demo: [3]}\n"))
                .contains("presets.demo: a group of keys is expected, not a list");
    }

    /** An empty grid was a bug, other faults were said after the points before them were trained, or never. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
            {a: {settings: [matrices.rate=|]}}              ;                        ; mine.yaml: run a has the grid matrices.rate=|; each
            {a: {settings: [matrices.rate=0.01||0.02]}}     ;                        ; run a has the grid matrices.rate=0.01||0.02
            {a: {settings: [matrices.rate=0.01|0.01]}}      ;                        ; run a has the grid matrices.rate=0.01|0.01
            {a: {}, b: {settings: [matrices.rate=0.01|-1]}} ;                        ; mine.yaml: run b: matrices.rate is -1
            {a: {settings: [matrices.rate=0.02|0.04]}, a-0.04: {}} ;                 ; runs a and a-0.04 would both be trained in
            {a: {settings: [matrices.rate=0.02|0.04]}}      ; --set matrices.rate=0.1 ; every point of the grid of run a
            {a: {}}                                         ; --seeds 2 --set seed=7 ; --set seed sets one seed, but this experiment has 2
            """)
    void grids(String runs, String options, String problem) throws Exception {
        Path file = Files.writeString(dir.resolve("mine.yaml"), "title: t\npresets: {}\nruns: " + runs + "\n");
        assertThat(ht.refused(
                        "reproduce", file, "--out", dir.resolve("out"), Ht.TINY, options == null ? List.of() : options))
                .contains(problem.strip());
        assertThat(dir.resolve("out")).doesNotExist();
    }

    @Test
    void everyExperimentOfTheProjectCanBeRead() {
        Experiment.KNOWN
                .keySet()
                .forEach(name ->
                        assertThat(Experiment.read(name).runs()).as(name).isNotEmpty());
    }

    @Test
    void whole() throws Exception {
        assertThat(refused("null\n")).contains("it is empty");
        assertThat(refused("")).contains("is not an experiment");
        assertThat(refused("[1, 2]\n")).contains("is not an experiment");
        assertThat(refused("tilte: x\n")).contains("unknown key 'tilte'; the keys there are");
        String huge = "title: t\nsettings: []\nruns: {a: {settings: []}}\npresets: {huge: {settings: []}}\n";
        Path file = Files.writeString(dir.resolve("mine.yaml"), huge);
        assertThat(ht.refused("reproduce", file)).contains("unknown preset 'huge'");
        Files.delete(file);
        assertThat(ht.refused("reproduce", "/")).contains("unknown experiment '/'; there are exp1");
        assertThat(ht.refused("reproduce", "")).contains("unknown experiment ''");
        assertThat(ht.refused("reproduce", "exp1", "--seeds 0")).contains("--seeds is 0");
        assertThat(ht.refused("reproduce", "exp1", "--out", "")).contains("option '--out': ''");
        assertThat(ht.refused("train", "../runs/muon.yaml", "--out", "")).contains("option '--out': ''");
        // plans for all seeds were made before the first was trained, until memory ended
        assertThat(ht.refused("reproduce", "exp1", "--seeds 2147483647 --set stepz=1"))
                .contains("stepz");
        assertThat(ht.refused("report", dir, "--out /")).contains("--out is '/'");
        assertThat(ht.refused("train", "/")).contains("/ is not a run: it has no config.yaml");
    }
}
