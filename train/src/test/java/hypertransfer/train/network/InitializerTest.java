package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.engine.Engine;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Parameters.Masters;
import java.util.Arrays;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Truncated normals by their definition, one after the other; gains are zero. */
class InitializerTest {
    /** The standard deviation of a standard normal cut at two. */
    private static final double CUT_STD = 0.87962566;

    /** What is drawn in blocks on all cores is what one generator gives in turn. Of 5003 rows a whole block is too many. */
    @ParameterizedTest
    @CsvSource({"reference, 800, 64, 1234", "cpu, 5003, 256, 5"})
    void blocksAreOneStream(String name, int vocabulary, int width, long seed) {
        Architecture large = new Architecture(Variant.M1, vocabulary, 1, width, 16, 4);
        try (Engine engine = Engines.open(name, large.dims(1))) {
            Parameters parameters = new Parameters(engine, large, Masters.SHARED);
            engine.commit();
            Initializer.initialize(engine, parameters, seed);
            for (Parameter p : parameters.all()) {
                double std = p.hidden() ? 1 / Math.sqrt(p.master().cols()) : 0.006;
                int count = Math.toIntExact(p.master().size());
                double[] values = engine.read(p.master());
                if (p.name().endsWith("gain")) {
                    assertThat(values).containsOnly(0);
                    continue;
                }
                assertThat(values).as(p.name()).isEqualTo(inTurn(seed, p.name(), count, std));
                double mean = Arrays.stream(values).average().orElseThrow();
                double square = Arrays.stream(values).map(v -> v * v).average().orElseThrow();
                assertThat(mean).as(p.name()).isCloseTo(0, within(5 * std / Math.sqrt(count)));
                assertThat(Math.sqrt(square)).as(p.name()).isCloseTo(CUT_STD * std, within(5 * std / Math.sqrt(count)));
                assertThat(Arrays.stream(values).map(Math::abs).max().orElseThrow())
                        .isLessThan(2.0000001 * std);
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
}
