package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.engine.Engine;
import hypertransfer.engine.provider.Engines;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class InitializerTest {
    /** The standard deviation of a standard normal cut at two. */
    private static final double CUT_STD = 0.87962566;

    private static final Architecture ARCHITECTURE = new Architecture(Variant.M1, 400, 1, 64, 16, 4);

    @Test
    void startsAsTheDesignSays() {
        try (Engine engine = Engines.open("reference", ARCHITECTURE.dims(1))) {
            for (Parameter p : draw(engine, ARCHITECTURE, 1234).all()) {
                double[] values = engine.read(p.master());
                if (p.name().endsWith("gain")) {
                    assertThat(values).containsOnly(0);
                    continue;
                }
                double std = p.hidden() ? 1 / Math.sqrt(p.master().cols()) : 0.006;
                double mean = Arrays.stream(values).average().orElseThrow();
                double square = Arrays.stream(values).map(v -> v * v).average().orElseThrow();
                double n = values.length;
                assertThat(mean).as(p.name()).isCloseTo(0, within(5 * std / Math.sqrt(n)));
                assertThat(Math.sqrt(square)).as(p.name()).isCloseTo(CUT_STD * std, within(5 * std / Math.sqrt(n)));
                assertThat(Arrays.stream(values).map(Math::abs).max().orElseThrow())
                        .isLessThan(2.0000001 * std);
            }
        }
    }

    /** What is drawn in blocks on all cores is what one generator gives in turn. Of 5003 rows a whole block is too many. */
    @ParameterizedTest
    @CsvSource({"reference, 800, 64, 1234", "cpu, 5003, 256, 5"})
    void blocksAreOneStream(String name, int vocabulary, int width, long seed) {
        Architecture large = new Architecture(Variant.M1, vocabulary, 1, width, 16, 4);
        try (Engine engine = Engines.open(name, large.dims(1))) {
            Parameters parameters = draw(engine, large, seed);
            for (Parameter p :
                    List.of(parameters.all().getFirst(), parameters.hidden().getFirst())) {
                double std = p.hidden() ? 1 / Math.sqrt(width) : 0.006;
                assertThat(engine.read(p.master()))
                        .isEqualTo(inTurn(
                                seed, p.name(), Math.toIntExact(p.master().size()), std));
            }
        }
    }

    private long state;

    private double[] inTurn(long seed, String name, int count, double std) {
        state = seed;
        for (char letter : name.toCharArray()) {
            state = next() ^ letter;
        }
        double[] values = new double[count];
        for (int i = 0; i < count; ) {
            double radius = StrictMath.sqrt(-2 * StrictMath.log(1 - (next() >>> 11) * 0x1p-53));
            double z = radius * StrictMath.cos(2 * Math.PI * ((next() >>> 11) * 0x1p-53));
            if (Math.abs(z) <= 2) {
                values[i++] = (float) (std * z);
            }
        }
        return values;
    }

    private long next() {
        state += 0x9e3779b97f4a7c15L;
        long z = (state ^ state >>> 30) * 0xbf58476d1ce4e5b9L;
        z = (z ^ z >>> 27) * 0x94d049bb133111ebL;
        return z ^ z >>> 31;
    }

    private static Parameters draw(Engine engine, Architecture architecture, long seed) {
        Parameters parameters = new Parameters(engine, architecture, Masters.SHARED);
        engine.commit();
        Initializer.initialize(engine, parameters, seed);
        return parameters;
    }
}
