package hypertransfer.train.config;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Mode;
import hypertransfer.core.ShapeFactor;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Design;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.AdaMuon;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Directions;
import hypertransfer.train.optimizer.Lion;
import hypertransfer.train.optimizer.NorMuon;
import hypertransfer.train.optimizer.Signum;
import hypertransfer.train.optimizer.Soap;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

class ConfigurationTest {
    @TempDir
    Path dir;

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
            matrices.rat=1           | unknown key 'matrices.rat'; the nearest is 'matrices.rate'
            matrixes.rate=1          | unknown key 'matrixes'; the nearest is 'matrices'
            matrices.policy=floor    | matrices.policy is 'floor'; it must be none, or floor:NUMBER, brake:NUMBER and pinned
            matrices.policy=brake:2  | the radial brake is 2.0; it must be from 0 to 1
            adamw.lr=1               | unknown key 'adamw.lr'; the nearest is 'adamw.rate'
            momentum=0.9             | unknown key 'momentum'; the nearest is 'matrices.momentum'
            step=3                   | unknown key 'step'; the nearest is 'steps'
            ..=3                     | unknown key ''
            steps=many               | steps is "many"; a whole number is expected
            steps=400.0              | steps is 400.0; a whole number is expected
            steps={a: 1}             | steps is {"a":1}; a whole number is expected
            seed=                    | seed has no value
            seed=x                   | seed is "x"; a whole number is expected
            matrices.rate=fast       | matrices.rate is "fast"; a number such as 0.01 or 1e-2 is expected
            matrices.bf16=1          | matrices.bf16 is 1; true or false is expected
            matrices.nesterov=yess   | matrices.nesterov is "yess"; true or false is expected
            network=M3               | network is "M3"; one of [M1, M2] is expected
            matrices=3               | 'matrices' is a group of keys, such as 'matrices.direction'; it was given 3
            model=                   | 'model' is a group of keys
            steps=0                  | steps is 0; it must be one or more
            model.layers=0           | model.layers is 0; it must be one or more
            model.accumulation=-1    | model.accumulation is -1; it must be one or more
            model.head=48            | model: width 128 is not a multiple of head size 48
            model.kv_heads=3         | model: width 128 has 4 heads of 32, which 3 key/value heads do not divide; change either
            model.kv_heads=-1        | model.kv_heads is -1; it must be zero or more
            model.window=-1          | model.window is -1; it must be zero or more
            model.mlp=tanh           | model.mlp is 'tanh'; it must be relu-squared, gelu or swiglu
            model.norm=batch         | model.norm is 'batch'; it must be rms or layer
            model.positions=alibi    | model.positions is 'alibi'; it must be rotary, learned or none
            model.bias=true          | model.bias is true, and norms follow the matrices: set network to M2 and model.qk_norm to false
            model.mlp_width=99999999 | model: width 128 x MLP's width 99999999 numbers, but one tensor holds fewer than 2^31
            model.vocab=100          | model.vocab is 100; it must be 256 or more
            checkpoint.keep=0        | checkpoint.keep is 0
            validation.every=-5      | validation.every is -5; it must be zero or more
            matrices.direction=tiger | matrices.direction is 'tiger'; it must be muon, adam, sgd, lion, signum, normuon, adamuon, soap or soap-muon
            clip.norm=-1             | clip.norm is -1.0; it must be a finite number, zero or more
            matrices.init=ones       | matrices.init is 'ones'; it must be normal or zero
            matrices.zero_radius=-1  | matrices: zero_radius is -1.0; it must be a finite number, zero or more
            clip.norm=.nan           | clip.norm is NaN
            clip.norm=.inf           | clip.norm is Infinity
            clip.norm=1 & clip.value=2 | clip.norm is 1.0 and clip.value is 2.0; set one of them to 0
            matrices.view=blocks:7x1 | matrices.view is blocks:7x1, and blocks.0.attn.q.weight has 128 rows and 128 columns, which it does not divide; choose divisors, or name the matrices in matrices.groups
            matrices.view=''         | matrices.view is ''; it must be whole, heads or blocks:
            matrices.view=head       | matrices.view is 'head'; it must be whole, heads or blocks:
            matrices.view=blocks:0x1 | matrices.view is 'blocks:0x1'; it must be whole, heads or blocks:
            matrices.view=blocks:9999999x1 | matrices.view is 'blocks:9999999x1'; it must be whole, heads or blocks:
            matrices.schulz_steps=3 | --set: the key 'matrices.schulz_steps' no longer exists; every run now has what 0 stood for, but its value is 3: leave the key out, or use the previous version
            matrices.shampoo_beta=0.9 & matrices.direction=soap | the key 'matrices.shampoo_beta' no longer exists
            matrices.coefficients=x  | matrices.coefficients is 'x'; it must be jordan, convergent or polar-express
            matrices.shape_factor=x  | matrices.shape_factor is 'x'; it must be none, tall, spectral or rms
            matrices.schedule=square | matrices: unknown schedule shape 'square'; the shapes are linear
            matrices.mode=bse        | unknown mode 'bse'; the modes are base,
            matrices.gradient=x      | matrices.gradient is 'x'; it must be exact, mode, auto, as-is, rescaled, representative
            matrices.momentum=1      | matrices: Muon's momentum is 1.0; it must be from 0 to less than 1
            matrices.rate=-0.1       | matrices.rate is -0.1; it must be a finite number, zero or more
            matrices.rate=.nan       | matrices.rate is NaN; it must be a finite number
            matrices.rate=.inf       | matrices.rate is Infinity; it must be a finite number
            matrices.groups.fc.rate=.nan | matrices.groups.fc.rate is NaN
            matrices.final_ratio=1.5 | matrices.final_ratio is 1.5; it must be from 0 to 1
            matrices.decay=-0.1      | matrices: weight decay is -0.1
            matrices.decay=.nan      | matrices
            matrices.target_decay=-1 | matrices: weight decay is -1.0
            matrices.rate=10         | matrices.rate 10.0 times the target's weight decay 0.1 is 1 or more
            matrices.warmup=1        | matrices.warmup is 1.0; it must be from 0 to less than 1
            adamw.rate=-1            | adamw.rate is -1.0; it must be a finite number, zero or more
            adamw.rate=10            | adamw.rate 10.0 times adamw.decay 0.1 is 1 or more
            adamw.decay=-0.1         | adamw: weight decay is -0.1
            adamw.beta1=1.5          | adamw: Adam's beta1 is 1.5
            adamw.embedding_rate=nan | adamw.embedding_rate is "nan"; a number or null is expected
            adamw.head_rate=inf      | adamw.head_rate is "inf"; a number or null is expected
            adamw.gain_rate=[1]      | adamw.gain_rate is [1]; a number or null is expected
            adamw.gain_rate=.nan     | adamw.gain_rate is NaN, with decay 0.1 and adamw.rate 0.01
            adamw.embedding_rate=-1  | adamw.embedding_rate is -1.0, with decay 0.1 and adamw.rate 0.01
            matrices.proxy_growth=x  | matrices.proxy_growth is "x"; a number or null is expected
            matrices.proxy_growth=.inf & matrices.mode=hypertransfer | matrices.proxy_growth Infinity must be a finite number above zero
            steps=99999999999        | steps is 99999999999; a whole number from -2147483648 to 2147483647 is expected
            seed=9999999999999999999 | seed is 9999999999999999999; a whole number from -9223372036854775808 to 9223372036854775807 is expected
            matrices.groups.fc.precondition_frequency=99999999999 | matrices.groups.fc.precondition_frequency is 99999999999; a whole number from
            adamw.schedule=square    | adamw: unknown schedule shape 'square'
            adamw.head_rate=0.01 & model.tied=true | adamw.head_rate is 0.01, and model.tied makes the head the embedding's matrix; set adamw.embedding_rate
            preset=big               | unknown preset 'big'
            rate                     | --set takes key=value
            steps=                   | steps has no value; give it one, or leave the key out
            network=0                | network is 0; one of [M1, M2] is expected
            preset=gpt2-124m & model.batch=24 | 524288 tokens per step
            matrices.init=zero & matrices.mode=hyperball | matrices.init is zero and matrices.mode is hyperball, which needs a radius that a zero matrix does not have: set matrices.zero_radius, matrices.init=normal or matrices.mode=base
            matrices.direction=soap & matrices.nesterov=true | matrices.nesterov is true, and soap has no momentum
            matrices.direction=soap & matrices.precondition_frequency=0 | matrices: SOAP's precondition_frequency is 0 and its largest side 10000; both must be 1 or more
            matrices.direction=adamuon & matrices.shape_factor=rms | matrices.shape_factor is rms, and the norm of adamuon follows from the shape already
            matrices.direction=normuon & matrices.epsilon=0 | matrices: NorMuon's epsilon is 0.0
            matrices.direction=lion & matrices.beta2=1 | matrices: Lion's beta2 is 1.0
            matrices.direction=signum & matrices.momentum=-0.1 | matrices: Signum's momentum is -0.1
            matrices.direction=adamuon & matrices.beta2=.nan | matrices: AdaMuon's beta2 is NaN
            matrices.direction=soap & matrices.epsilon=0 | matrices: SOAP's epsilon is 0.0
            matrices.mode=hyperball & matrices.radius=2 & from.run=x | matrices.radius applies only at the start of a run
            matrices.radius=2                 | matrices: the radius is 2.0, and Base(0.1) in Base(0.1) has no Hyperball
            matrices.radius=0                 | the radius is 0.0
            matrices.groups.fc.radius=2       | matrices.groups.fc: the radius is 2.0
            matrices.groups.fx.rate=1         | matrices.groups.fx matches none of the hidden matrices
            matrices.groups.fc.rat=1          | matrices.groups.fc has the unknown key 'rat'
            matrices.groups.fc.master=float64 | matrices.groups.fc.master cannot differ between groups
            matrices.groups.fc.rate=x         | matrices.groups.fc.rate is "x"
            matrices.groups.fc.mode=x         | matrices.groups.fc: unknown mode 'x'
            matrices.groups.fc.rate=20        | matrices.groups.fc.rate 20.0 times the target's weight decay 0.1 is 1 or more
            matrices.groups.fc=1              | holds groups of keys by name pattern
            matrices.groups.fc.rate=null      | matrices.groups.fc.rate has no value
            """)
    void refused(String settings, String sentence) {
        assertRefused(() -> ConfigurationFile.of(settings.split(" & ")), sentence.strip());
    }

    @ParameterizedTest
    @ValueSource(strings = {"1e-3", "1.0e-3", "0.001", "1E-3"})
    void numbersAsPeopleWriteThem(String number) {
        assertThat(ConfigurationFile.of("matrices.rate=" + number).matrices().rate())
                .isEqualTo(0.001);
    }

    @ParameterizedTest
    @EnumSource
    void whatIsWrittenIsReadBack(Mode mode) throws IOException {
        Configuration c = ConfigurationFile.of(
                "matrices.mode=" + mode.label(),
                "preset=small",
                "matrices.rate=1.2345678901234567e-2",
                "adamw.epsilon=1e-300",
                "matrices.epsilon=3e-9",
                "seed=-9223372036854775808",
                "data.train='a: b, #c'",
                "target=null",
                "from.run='007'",
                "engine=reference",
                "stop_above=1e9");
        Path file = dir.resolve("config.yaml");
        Files.writeString(file, ConfigurationFile.write(c));
        assertThat(ConfigurationFile.read(file, List.of())).isEqualTo(c);
        assertThat(c.model().width()).isEqualTo(256);
        assertThat(c.data().train()).isEqualTo("a: b, #c");
        assertThat(c.from().run()).isEqualTo("007");
        assertThat(Files.readString(file)).as("every value resolved").doesNotContain("width: null");
    }

    @Test
    void everyKeyIsWrittenInTheOrderOfTheDefaults() {
        Configuration c = ConfigurationFile.of();
        YAMLMapper yaml = new YAMLMapper();
        assertThat(keys(yaml.readTree(ConfigurationFile.write(c))))
                .isEqualTo(keys(yaml.readTree(ConfigurationFile.keys())));
    }

    /** Resumed runs compare these words with those of their checkpoints. */
    @ParameterizedTest
    @ValueSource(strings = {"schedule=trapezoid:.2", "schedule=Linear", "gradient=at-radius", "master=float64"})
    void wordsStayAsTheyWereWritten(String setting) {
        String[] parts = setting.split("=");
        Configuration c = ConfigurationFile.of("matrices." + setting);
        assertThat(ConfigurationFile.settings(c)).containsEntry("matrices." + parts[0], parts[1]);
        assertThat(ConfigurationFile.write(c)).contains(parts[0] + ": \"" + parts[1] + "\"");
    }

    /** Each choice is one key, and M1 and M2 are what no key makes. */
    @Test
    void networks() {
        for (Variant variant : Variant.values()) {
            Architecture own = ConfigurationFile.of("network=" + variant).architecture();
            assertThat(own.variant()).isEqualTo(variant);
            assertThat(own.design()).isEqualTo(Design.PAPER);
        }
        Architecture llama = ConfigurationFile.of(
                        "network=M2",
                        "preset=gpt2-124m",
                        "model.mlp=swiglu",
                        "model.kv_heads=2",
                        "model.qk_norm=false",
                        "model.embed_norm=false")
                .architecture();
        assertThat(llama.label()).isEqualTo("M2 with SwiGLU, 2 key/value heads, no Q/K norm, no norm of the embedding");
        assertThat(llama.outlines())
                .contains(
                        new Outline("blocks.3.attn.k.weight", 256, 768, 3, Outline.Kind.K),
                        new Outline("blocks.3.mlp.gate.weight", 2048, 768, 3, Outline.Kind.GATE),
                        new Outline("blocks.3.mlp.proj.weight", 768, 2048, 3, Outline.Kind.PROJ))
                .noneMatch(outline -> outline.name().equals("embed.gain"));
    }

    @Test
    void everyKeyIsExplained() {
        List<String> lines = ConfigurationFile.keys().lines().toList();
        assertThat(lines.stream().filter(line -> line.matches(" *\\w+: \\S.*")))
                .hasSizeGreaterThan(70)
                .allMatch(line -> line.matches(" *\\w+: \\S+ +# .{4,}|  width: null +# C"));
        assertThat(lines).allMatch(line -> line.length() <= 120);
    }

    @Test
    void everyDirectionIsExplained() throws IOException {
        String document = Files.readString(Path.of("..", "docs", "USE.md"));
        assertThat(Directions.values())
                .allSatisfy(direction -> assertThat(document).containsPattern(row(direction)));
    }

    /** A row of the table, as a regular expression: its name, what it is, the keys that it reads with their defaults. */
    private static String row(Directions direction) {
        Directions.Facts facts = direction.facts;
        String keys = facts.reads().stream()
                .map(key -> facts.defaults().containsKey(key)
                        ? key + " " + facts.defaults().get(key)
                        : key)
                .collect(Collectors.joining(", "));
        return "(?m)^\\| `" + direction.label() + "` \\| \\w[^|]+ \\| " + Pattern.quote(keys) + " \\|$";
    }

    private static List<String> keys(JsonNode node) {
        List<String> keys = new ArrayList<>();
        node.properties().forEach(field -> {
            if (field.getValue().isObject()) {
                keys(field.getValue()).forEach(inner -> keys.add(field.getKey() + "." + inner));
            } else {
                keys.add(field.getKey());
            }
        });
        return keys;
    }

    @Test
    void files() throws IOException {
        Path file = dir.resolve("run.yaml");
        Files.writeString(file, "");
        assertThat(ConfigurationFile.read(file, List.of())).isEqualTo(ConfigurationFile.of());
        Files.writeString(file, "# nothing but a comment\n");
        assertThat(ConfigurationFile.read(file, List.of("steps=7")).steps()).isEqualTo(7);
        Files.writeString(file, "steps: 3\nmatrices: {rate: 0.5}\n");
        assertThat(ConfigurationFile.read(file, List.of("matrices.rate=0.25"))
                        .matrices()
                        .rate())
                .isEqualTo(0.25);

        refusedFile("just text", "holds no keys");
        refusedFile("steps: 3\nsteps: 4\n", "is not YAML: the key \"steps\" is there twice");
        refusedFile("steps: [3\n", "is not YAML: while parsing a flow sequence, line 1, column 8: steps: [3 expected");
        refusedFile("matrices:\n  rat: 1\n", file + ": unknown key 'matrices.rat'");
        refusedFile("matrices: {rate: {}}\n", "matrices.rate is {}; a number such as 0.01 or 1e-2 is expected");
        assertThat(ConfigurationFile.read(file, List.of("matrices.rate=0.25"))
                        .matrices()
                        .rate())
                .as("was a NoSuchElementException")
                .isEqualTo(0.25);
        // 230 MB of them took more than ten seconds
        refusedFile(
                "# a comment\n".repeat(400_000),
                file + " has 4800000 bytes, but a configuration or an experiment has at most 4194304");
        assertRefused(() -> ConfigurationFile.read(dir.resolve("none.yaml"), List.of()), "is not a file");
    }

    private void refusedFile(String text, String sentence) throws IOException {
        Path file = Files.writeString(dir.resolve("run.yaml"), text);
        assertRefused(() -> ConfigurationFile.read(file, List.of()), sentence);
    }

    @Test
    void validationFollowsThePapersCadence() {
        Configuration paper = ConfigurationFile.of("steps=5723");
        List<Integer> at = IntStream.rangeClosed(0, 5723)
                .filter(paper::validatesBefore)
                .boxed()
                .toList();
        assertThat(at)
                .startsWith(0, 125, 250)
                .endsWith(5675, 5700, 5723)
                .contains(5125, 5175)
                .doesNotContain(5140, 25);
        Configuration own = ConfigurationFile.of("steps=100", "validation.every=30");
        assertThat(IntStream.rangeClosed(0, 100).filter(own::validatesBefore).toArray())
                .containsExactly(0, 30, 60, 90, 92, 94, 96, 98, 100);
        Configuration veryLong = ConfigurationFile.of("steps=20000000"); // the cadence was 5 steps instead of 436,834
        assertThat(IntStream.of(5, 436_834).filter(veryLong::validatesBefore)).containsExactly(436_834);
    }

    @ParameterizedTest
    @CsvSource({
        "preset=gpt2-124m, 5723, 8, 524288, RMS, true",
        "preset=gpt2-124m model.batch=32, 5723, 16, 524288, RMS, true",
        "preset=gpt2-124m steps=7 model.accumulation=1, 7, 1, 65536, RMS, true",
        "preset=dense-500m, 133500, 16, 524288, RMS, true", // 70 billion tokens
        "preset=paper-50m, 5723, 1, 49152, RMS, true",
        "preset=paper-50m model.batch=24, 5723, 2, 49152, RMS, true",
        "preset=demo, 400, 1, 2048, NONE, false"
    })
    void presetsMeanThePapersRuns(
            String settings, int steps, int accumulation, long tokens, ShapeFactor factor, boolean bf16) {
        Configuration c = ConfigurationFile.of(settings.split(" "));
        assertThat(c.steps()).isEqualTo(steps);
        assertThat(c.model().accumulation()).isEqualTo(accumulation);
        assertThat(c.tokensPerStep()).isEqualTo(tokens);
        assertThat(c.matrices().settings().shapeFactor()).isEqualTo(factor);
        assertThat(c.matrices().settings().bf16()).isEqualTo(bf16);
    }

    @Test
    void directionsHaveDefaultsOfTheirOwn() {
        assertThat(direction("lion")).isEqualTo(new Lion(0.9, 0.99));
        assertThat(direction("signum")).isEqualTo(new Signum(0.9, false));
        assertThat(direction("normuon")).isEqualTo(new NorMuon(Direction.Muon.standard(), 0.95, 1e-10));
        assertThat(direction("muon")).isEqualTo(Direction.Muon.standard());
        assertThat(direction("adam")).isEqualTo(Direction.Adam.standard());
        assertThat(direction("soap")).isEqualTo(new Soap(0.95, 0.95, 1e-10, 0.95, 10, 10_000));
        assertThat(direction("soap", "preset=gpt2-124m").factor(8, 4)).isEqualTo(1);
        assertThat(direction(
                        "soap", "matrices.beta2=0.9", "matrices.precondition_frequency=3", "matrices.epsilon=1e-8"))
                .isEqualTo(new Soap(0.95, 0.9, 1e-8, 0.9, 3, 10_000));
        assertThat(direction("adamuon")).isInstanceOf(AdaMuon.class);
        assertThat(direction("adamuon", "preset=gpt2-124m").factor(8, 4)).isEqualTo(1);
        assertThat(direction("normuon", "preset=gpt2-124m").factor(8, 4)).isEqualTo(0.2 * Math.sqrt(8));
        assertThat(direction("muon", "matrices.coefficients=polar-express").label())
                .contains("8 steps from (8.2");
    }

    private static Direction direction(String name, String... settings) {
        String[] all = Arrays.copyOf(settings, settings.length + 1);
        all[settings.length] = "matrices.direction=" + name;
        return ConfigurationFile.of(all).matrices().update();
    }

    @Test
    void parametersAreCountedWithAndWithoutTheHead() {
        var c = ConfigurationFile.of("preset=gpt2-124m").architecture();
        assertThat(c.parameters()).isEqualTo(162_221_568);
        assertThat(c.parametersWithoutHead()).isEqualTo(123_588_096);
        assertThat(ConfigurationFile.of("preset=dense-500m").architecture().parametersWithoutHead())
                .isEqualTo(536_312_320);
    }

    @Test
    void pathsAreNotYaml() {
        String path = "/home/me/run #2/a: b";
        Configuration c = ConfigurationFile.of("target=" + path, "data.train=" + path, "from.run=" + path);
        assertThat(c.target()).isEqualTo(path);
        assertThat(c.data().train()).isEqualTo(path);
        assertThat(ConfigurationFile.with(c, "from.run=").from().run()).isNull();
        assertThat(ConfigurationFile.with(c, "target=null").target()).isNull();
    }
}
