package hypertransfer.train.golden;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.core.Mode;
import hypertransfer.engine.Format;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.golden.Errors.Quantity;
import hypertransfer.train.golden.Errors.Tolerance;
import java.net.URI;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every golden trajectory, replayed. */
class ConformanceTest {
    static final List<Golden> GOLDEN = Golden.readAll(directory());

    /** Of the directions beside Muon and Adam, each as an ordinary optimizer and carried by a Hyperball. */
    private static final List<Golden> DIRECTIONS = Golden.readAll(directory("/golden-directions"));

    static Path directory() {
        return directory("/golden");
    }

    private static Path directory(String name) {
        return Path.of(URI.create(ConformanceTest.class.getResource(name).toString()));
    }

    static Stream<Replayed> cases() {
        return Stream.of(GOLDEN, DIRECTIONS)
                .flatMap(List::stream)
                .flatMap(g -> g.sizes().cases().stream().map(c -> new Replayed(g, c)));
    }

    record Replayed(Golden golden, Golden.Case trajectory) {
        /** The errors on an engine, which must be small enough. */
        Errors on(String engine, Format format) {
            Errors errors =
                    new Replay(golden, dims -> Engines.open(engine, dims), Tolerance.of(format)).run(trajectory);
            assertThat(errors.failures()).isEmpty();
            assertThat(errors.passed()).isTrue();
            return errors;
        }

        @Override
        public String toString() {
            return golden.sizes().network() + " " + trajectory.label();
        }
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("cases")
    void referenceReproduces(Replayed replayed) {
        assertThat(replayed.on("reference", Format.FLOAT64).largest(Quantity.LOSS))
                .isLessThanOrEqualTo(1e-9);
    }

    /** The algebra is the same on every engine: every other case has all modes and all directions; -Dht.slow=true takes all. */
    static Stream<Replayed> cpuCases() {
        List<Replayed> all = cases().toList();
        return IntStream.range(0, all.size())
                .filter(k -> (k + k / 8) % 2 == 0 || Boolean.getBoolean("ht.slow"))
                .mapToObj(all::get);
    }

    /** Opened by name, so that no other engine can stand in. */
    @ParameterizedTest(name = "{0}")
    @MethodSource("cpuCases")
    void cpuReproduces(Replayed replayed) {
        String demanded = System.getProperty("ht.engine", "cpu");
        assumeTrue(demanded.equals("cpu"), "ht.engine demands " + demanded);
        replayed.on("cpu", Format.FLOAT32);
    }

    /** Rounding to eight bits moves losses by less than 2%, and not by nothing. */
    @Test
    void theModelOfEightBitsStaysNear() {
        for (Golden golden : GOLDEN) {
            Replayed first = new Replayed(golden, golden.sizes().cases().getFirst());
            assertThat(first.on("reference-fp8", Format.FP8).largest(Quantity.LOSS))
                    .isGreaterThan(1e-4);
        }
    }

    @Test
    void allEightModesAndBothDirectionsAreThere() {
        for (String direction : List.of("muon", "adam")) {
            assertThat(GOLDEN.getFirst().sizes().cases().stream()
                            .filter(c -> c.direction().equals(direction))
                            .map(Golden.Case::mode)
                            .collect(Collectors.toSet()))
                    .isEqualTo(Stream.of(Mode.values()).map(Mode::label).collect(Collectors.toSet()));
        }
    }

    /** What a failure is called shows lab's test of the command. */
    @Test
    void errorsAreRelativeAndANaNNeverPasses() {
        Errors errors = new Errors(Tolerance.of(Format.FLOAT32));
        errors.compare(Quantity.NORM, "norm", 0, 1.25, List.of(1.5));
        assertThat(errors.largest(Quantity.NORM)).isCloseTo(1 / 6.0, within(1e-15));
        assertThat(errors.failures()).hasSize(1);
        errors.compare(Quantity.LOSS, "loss", 0, Double.NaN, List.of(1.0));
        errors.gradient("x", new double[] {Double.NaN}, new double[] {1});
        assertThat(errors.failures()).hasSize(3);
        assertThat(errors.passed()).isFalse();
        assertThat(errors.largest(Quantity.LOSS)).isInfinite();
        assertThat(errors.largest(Quantity.GRADIENT)).isInfinite();
    }
}
