package hypertransfer.train.run;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.SafeTensorsWriter;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.network.Dialect;
import hypertransfer.train.network.Foreign;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files of other programs, made here: what our network computes of them is what those programs would. */
class ImportedTest {
    private static final int[] TOKENS = {3, 1, 4, 1, 5, 9, 2, 6};
    private static final List<String> BOTH =
            List.of(("network=M2 engine=reference steps=4 model.width=16 model.head=4 model.layers=2"
                            + " model.qk_norm=false model.embed_norm=false")
                    .split(" "));
    private static final List<String> LLAMA = List.of("model.kv_heads=2", "model.mlp=swiglu", "model.mlp_width=20");
    private static final List<String> GPT2 = List.of(
            "model.mlp=gelu", "model.norm=layer", "model.positions=learned", "model.bias=true", "model.tied=true");

    @TempDir
    private Path dir;

    private Configuration configuration(List<String> network, String... more) {
        List<String> all = Stream.of(BOTH, network).flatMap(List::stream).toList();
        return new Tiny(dir).configuration(all, more);
    }

    private Path file(String name) {
        return dir.resolve(name + ".safetensors");
    }

    /** Writes a file of random weights under the other program's names, and returns them. */
    private Map<String, double[]> write(String name, Dialect dialect, Configuration c) {
        Random random = new Random(4);
        Map<String, double[]> weights = new LinkedHashMap<>();
        List<SafeTensorsWriter.Entry> entries = new ArrayList<>();
        for (Foreign f : dialect.tensors(c.architecture())) {
            double scale = f.form() == Foreign.Form.ZEROS ? 0 : 1;
            DoubleStream values = random.doubles(f.rows() * f.cols(), -0.5, 0.5).map(v -> (float) (scale * v));
            String full = dialect.name(f, dialect.prefixes.getFirst());
            weights.put(full, values.toArray());
            entries.add(new SafeTensorsWriter.Entry(full, f.rows(), f.cols(), 4, () -> weights.get(full)));
        }
        SafeTensorsWriter.write(file(name), entries, Map.of());
        return weights;
    }

    /** A run with the weights of the file of this name. */
    private Run imported(String name, Dialect dialect, Configuration c) {
        Path run = dir.resolve(name + "-run");
        try (RunLock lock = RunLock.create(run, c)) {
            Imported.read(file(name), dialect, c).write(lock, c, Map.of("version", "test"));
        }
        return new Run(run);
    }

    private static double[] logits(Run run) {
        try (TrainedNetwork trained = TrainedNetwork.load(run, Tiny::unexpected)) {
            return trained.logits(IntStream.of(TOKENS).boxed().toList());
        }
    }

    private void check(Dialect dialect, Configuration c, Function<Map<String, double[]>, double[]> expected) {
        Map<String, double[]> weights = write("there", dialect, c);
        Run run = imported("there", dialect, c);
        assertThat(logits(run)).containsExactly(expected.apply(weights), within(1e-9));
        assertThat(TrainedNetwork.export(run, file("back"), dialect, null, Tiny::unexpected))
                .isZero();
        try (SafeTensors there = SafeTensors.read(file("there"));
                SafeTensors here = SafeTensors.read(file("back"))) {
            assertThat(here.names()).isEqualTo(there.names());
            for (String name : there.names()) {
                assertThat(here.shape(name)).as(name).isEqualTo(there.shape(name));
                assertThat(here.values(name)).as(name).containsExactly(there.values(name), within(1e-7));
            }
        }
        assertThat(new Tiny(dir).resume("there-run")).isEmpty();
        assertThat(run.status().state().label()).isEqualTo("finished");
    }

    @Test
    void llama() {
        check(Dialect.LLAMA, configuration(LLAMA), weights -> new Llama(weights, 16, 4, 2, 2).logits(TOKENS));
    }

    @Test
    void gpt2() {
        check(Dialect.GPT2, configuration(GPT2), weights -> new Gpt2(weights, 16, 4, 2).logits(TOKENS));
    }

    /** The parts of a matrix have scales of their own, and placebo and grid change it; without them it was another network. */
    @Test
    void whatIsExportedIsWhatIsEvaluated() {
        Tiny tiny = new Tiny(dir);
        Configuration c = tiny.configuration(
                "network=M2", "engine=reference", "steps=8", "matrices.rate=0.1", "matrices.mode=hypertransfer-plus");
        Configuration plain = ConfigurationFile.with(c, "matrices.mode=base");
        for (String setting : List.of(
                "matrices.view=whole",
                "matrices.view=heads",
                "matrices.view=blocks:2x2",
                "matrices.placebo=1.5",
                "matrices.grid=5",
                "model.precision=fp8",
                "engine=reference-fp8")) {
            String name = setting.replace(':', '-');
            Run run = new Run(tiny.train(name, ConfigurationFile.with(c, setting)));
            TrainedNetwork.export(run, file(name), Dialect.OWN, null, Tiny::unexpected);
            assertThat(logits(imported(name, Dialect.OWN, plain)))
                    .as(setting)
                    .containsExactly(logits(run), within(1e-6)); // float32 in the file
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            LLAMA | model.kv_heads=4 | layers.0.self_attn.k_proj.weight is [8, 16] & [16, 16]
            LLAMA | model.layers=1 | has the tensor model.layers.1. & no place
            LLAMA | model.layers=3 | has no tensor model.layers.2.input_layernorm.weight
            LLAMA | model.tied=true | set model.tied to false
            LLAMA | network=M1 model.qk_norm=true model.mlp=gelu | the format llama has no place for this network: network is M1, not M2, model.qk_norm is true & model.mlp is not swiglu
            GPT2  | model.bias=false model.positions=none | wpe.weight has the number & model.positions to learned
            GPT2  | model.bias=false | h.0.ln_1.bias has the number & set model.bias to true
            """)
    void whatDoesNotFitIsNamed(Dialect dialect, String settings, String words) {
        List<String> network = dialect == Dialect.GPT2 ? GPT2 : LLAMA;
        Configuration there = configuration(network), here = configuration(network, settings.split(" "));
        write("there", dialect, there);
        assertRefused(() -> Imported.read(file("there"), dialect, here), words.split(" & "));
    }

    @Test
    void aFileOfAnotherFormatIsNamedAndWhatOnlyItHasMayBeZero() throws IOException {
        write("there", Dialect.LLAMA, configuration(LLAMA));
        assertRefused(
                () -> Imported.read(file("there"), Dialect.GPT2, configuration(GPT2)),
                "has no tensor transformer.wte.weight");
        Path whole = file("whole");
        byte[] bytes = Files.readAllBytes(file("there"));
        Files.write(
                whole,
                new String(bytes, StandardCharsets.ISO_8859_1)
                        .replaceFirst("\"F32\"", "\"I32\"")
                        .getBytes(StandardCharsets.ISO_8859_1));
        assertRefused(
                () -> Imported.read(whole, Dialect.LLAMA, configuration(LLAMA)),
                "holds whole numbers, which are no weights");
        Configuration plain = configuration(GPT2, "model.bias=false", "model.positions=none");
        write("plain", Dialect.GPT2, plain);
        assertThat(Imported.read(file("plain"), Dialect.GPT2, plain).weights()).containsKey("blocks.1.mlp.fc.weight");
    }
}
