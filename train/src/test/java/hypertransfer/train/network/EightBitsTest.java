package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Parameters.Masters;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A network whose products take eight bits, by the reference's model of them. */
class EightBitsTest {
    /** The loss, and the gradient of each parameter. */
    private static Map<String, double[]> gradients(String name, Variant variant, boolean recompute) {
        Architecture network = new Architecture(variant, 64, 2, 32, 16, 32);
        Dims dims = network.dims(4);
        Random random = new Random(5);
        int[] inputs = random.ints(dims.N(), 0, 64).toArray(),
                targets = random.ints(dims.N(), 0, 64).toArray();
        try (Engine engine = Engines.open(name, dims)) {
            Parameters parameters = new Parameters(engine, network, Masters.SHARED);
            Network passes = new Network(engine, network, parameters, 1, recompute);
            engine.commit();
            for (Parameter p : parameters.all()) {
                double spread = p.hidden() ? 1.5 / Math.sqrt(p.weight().cols()) : 0.3;
                engine.write(
                        p.master(),
                        random.doubles(p.master().size(), -spread, spread).toArray());
            }
            Map<String, double[]> all = new LinkedHashMap<>();
            passes.gradient(inputs, targets);
            all.put("loss", new double[] {passes.meanLoss()});
            parameters.all().forEach(p -> all.put(p.name(), engine.read(p.gradient())));
            return all;
        }
    }

    private static double cosine(double[] a, double[] b) {
        double ab = 0, aa = 0, bb = 0;
        for (int i = 0; i < a.length; i++) {
            ab += a[i] * b[i];
            aa += a[i] * a[i];
            bb += b[i] * b[i];
        }
        return ab / Math.sqrt(aa * bb);
    }

    @ParameterizedTest
    @CsvSource({"M1", "M2"})
    void gradientsPointWhereThoseWithoutRoundingDo(Variant variant) {
        Map<String, double[]> exact = gradients("reference", variant, false);
        Map<String, double[]> eight = gradients("reference-fp8", variant, false);
        List<String> far = new ArrayList<>();
        exact.forEach((name, gradient) -> {
            double cosine = cosine(gradient, eight.get(name));
            if (!(cosine > 0.97)) {
                far.add(name + " " + cosine);
            }
        });
        assertThat(far).isEmpty();
        assertThat(eight.get("loss")[0])
                .isNotEqualTo(exact.get("loss")[0])
                .isCloseTo(exact.get("loss")[0], within(0.02));
    }

    /** 6 x 123,568,128 numbers that something is multiplied by, and 6 x 12 x 1024 x 768 for attention. */
    @Test
    void operationsPerTokenAreCountedAsUsual() {
        Architecture gpt2 = new Architecture(Variant.M1, 50304, 12, 768, 128, 1024);
        assertThat(gpt2.operations()).isEqualTo(6.0 * (12 * 12 * 768 * 768 + 50304 * 768) + 6.0 * 12 * 1024 * 768);
        assertThat(gpt2.operations()).isCloseTo(798.0e6, within(0.1e6));
    }

    @Test
    void whatCannotBeInEightBitsIsRefusedInOneSentence() {
        Configuration cpu = ConfigurationFile.of("engine=cpu", "model.precision=fp8");
        assertThatThrownBy(cpu::opened)
                .hasMessage("model: engine cpu has no fp8; take cuda, or set model.precision to auto");
        assertThat(ConfigurationFile.of("engine=cuda", "model.precision=fp8").opened())
                .isEqualTo("cuda-fp8");
        assertThat(ConfigurationFile.of("engine=cuda").opened()).isEqualTo("cuda");
        for (String setting : List.of("model.mlp=gelu", "model.norm=layer")) {
            assertThatThrownBy(() -> ConfigurationFile.of("model.precision=fp8", setting))
                    .hasMessageContaining(
                            "model.precision is fp8, which supports only mlp relu-squared, norm rms and no bias");
            assertThatThrownBy(() -> ConfigurationFile.of("engine=reference-fp8", setting))
                    .hasMessageContaining("engine is reference-fp8, which supports only mlp relu-squared");
        }
        assertThat(ConfigurationFile.of("engine=reference-fp8", "model.precision=fp8")
                        .opened())
                .isEqualTo("reference-fp8");
    }

    /** What is computed again is what was kept. */
    @ParameterizedTest
    @CsvSource({"M1", "M2"})
    void recomputingHasTheSameBits(Variant variant) {
        Map<String, double[]> kept = gradients("reference-fp8", variant, false);
        gradients("reference-fp8", variant, true)
                .forEach((name, again) -> assertThat(again).as(name).isEqualTo(kept.get(name)));
    }
}
