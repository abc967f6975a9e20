package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.engine.Format;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.Rig;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.optimizer.View;
import java.util.Arrays;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Networks that differ from M1 and M2: their gradients, and which of their matrices are scale-invariant. */
class DesignTest {
    private static final Routing ROUTING = Routing.standard(Direction.Muon.standard(), Rig.MUON);

    static Stream<Architecture> networks() {
        return Differences.networks().values().stream();
    }

    private static Architecture rig(Architecture network) {
        return Rig.architecture(network.variant(), network.design());
    }

    @ParameterizedTest
    @MethodSource("networks")
    void gradientsAreFiniteDifferences(Architecture network) {
        assertThat(Differences.of(dims -> Engines.open("reference", dims), network))
                .allMatch(parameter -> parameter.accepted(Format.FLOAT64) && parameter.largest() > 1e-4);
        assertThat(Differences.of(dims -> Engines.open("cpu", dims), network))
                .allMatch(parameter -> parameter.accepted(Format.FLOAT32));
    }

    @Test
    void aWrongGradientIsNotAccepted() {
        assertThat(new Differences(null, "w", 2e-6, 1).accepted(Format.FLOAT64)).isFalse();
        assertThat(new Differences(null, "w", Double.NaN, 1).accepted(Format.BF16))
                .isFalse();
    }

    @ParameterizedTest
    @MethodSource("networks")
    void scaleMattersJustWhereNoNormFollows(Architecture network) {
        try (Rig rig = new Rig(rig(network), ROUTING, 1, false)) {
            double loss = rig.loss();
            for (Parameter p : rig.parameters.hidden()) {
                for (double factor : new double[] {0.5, 3}) {
                    double change = Math.abs(rig.scaledLoss(p, factor) - loss);
                    if (network.invariant(p.outline().kind())) { // up to the norm's epsilon of 1e-10
                        assertThat(change).as(p.name()).isLessThan(1e-8);
                    } else {
                        assertThat(change).as(p.name()).isGreaterThan(1e-4);
                    }
                }
            }
            assertThat(rig.loss()).isEqualTo(loss);
        }
    }

    /** A norm follows every head of queries, keys and M1's values, but no other part of a matrix. */
    @ParameterizedTest
    @MethodSource("networks")
    void scaleMattersJustForPartsThatNoNormFollows(Architecture network) {
        try (Rig rig = new Rig(rig(network), ROUTING, 1, false)) {
            double loss = rig.loss();
            for (View view : Stream.of("heads", "blocks:4x1", "blocks:1x2")
                    .map(View::parse)
                    .toList()) {
                for (Parameter p : rig.parameters.hidden()) {
                    Outline matrix = p.outline();
                    if (matrix.rows() % view.down() != 0 || matrix.cols() % view.across() != 0) {
                        continue;
                    }
                    int[] parts = view.parts(matrix, rig.engine.dims().D());
                    double largest = 0;
                    for (int k = 0; k <= Arrays.stream(parts).max().orElseThrow(); k++) {
                        int part = k;
                        double scaled = rig.scaledLoss(p, i -> parts[i] == part ? 3 : 1);
                        largest = Math.max(largest, Math.abs(scaled - loss));
                    }
                    String where = view.text() + " of " + p.name() + " in " + network.label();
                    if (view.invariant(network, matrix.kind())) {
                        assertThat(largest).as(where).isLessThan(1e-8);
                    } else {
                        assertThat(largest).as(where).isGreaterThan(1e-4);
                    }
                }
            }
        }
    }

    private static double[] gradient(Rig rig, Parameter p) {
        return rig.engine.read(rig.parameter(p.name()).gradient());
    }

    @ParameterizedTest
    @MethodSource("networks")
    void microBatchesAddUp(Architecture network) {
        int[] others = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
        try (Rig one = new Rig(rig(network), ROUTING, 1, false);
                Rig two = new Rig(rig(network), ROUTING, 2, true)) {
            one.gradient();
            one.network.gradient(others, one.targets);
            two.engine.zero(two.parameters.gradients());
            two.network.gradient(two.inputs, two.targets, 0, null);
            two.network.gradient(others, two.targets, 1, null);
            for (Parameter p : one.parameters.all()) {
                double[] half = gradient(one, p);
                Arrays.setAll(half, i -> half[i] / 2);
                assertThat(gradient(two, p)).as(p.name()).containsExactly(half, within(1e-14));
            }
            double mean = (one.loss() + one.network.loss(others, one.targets)) / 2;
            assertThat(two.network.meanLoss()).isCloseTo(mean, within(1e-14));
        }
    }

    /** What is computed again is the same to the last bit, and takes less memory. */
    @ParameterizedTest
    @MethodSource("networks")
    void recomputationChangesNothingButTheMemory(Architecture network) {
        try (Rig kept = new Rig(rig(network), ROUTING, 1, false);
                Rig again = new Rig(rig(network), ROUTING, 1, true)) {
            kept.gradient();
            again.gradient();
            assertThat(again.network.meanLoss()).isEqualTo(kept.network.meanLoss());
            for (Parameter p : kept.parameters.all()) {
                assertThat(gradient(again, p)).as(p.name()).isEqualTo(gradient(kept, p));
            }
            assertThat(again.memory.total()).isLessThan(kept.memory.total());
        }
    }

    @ParameterizedTest
    @MethodSource("networks")
    void outlinesAreThoseOfTheParameters(Architecture network) {
        Architecture architecture = rig(network);
        try (Rig rig = new Rig(architecture, ROUTING, 1, false)) {
            assertThat(rig.parameters.all().stream()
                            .map(p -> new Outline(
                                    p.name(),
                                    p.weight().rows(),
                                    p.weight().cols(),
                                    p.outline().layer(),
                                    p.outline().kind())))
                    .isEqualTo(architecture.outlines());
        }
    }

    /** With a tied embedding, biases and learned positions it has as many parameters as it is known for. */
    @Test
    void gpt2IsAsLargeAsGpt2() {
        Design gpt2 = networks()
                .map(Architecture::design)
                .filter(design -> design.positions() == Design.Positions.LEARNED)
                .findFirst()
                .orElseThrow();
        Architecture small = new Architecture(Variant.M2, gpt2, 50_257, 12, 768, 64, 1024);
        assertThat(small.parameters()).isEqualTo(small.parametersWithoutHead()).isEqualTo(124_439_808);
    }

    /** In M1 the norm after fc, which an engine of bfloat16 goes without, changes no loss and no gradient. */
    @Test
    void theNormAfterFcCancels() {
        try (Rig kept = new Rig(Variant.M1, ROUTING);
                Rig without = Rig.coarse(ROUTING)) {
            assertThat(without.memory.total()).as("it is left out").isLessThan(kept.memory.total());
            kept.gradient();
            without.gradient();
            assertThat(without.network.meanLoss()).isCloseTo(kept.network.meanLoss(), within(1e-9));
            for (Parameter p : kept.parameters.all()) {
                double[] expected = gradient(kept, p);
                double largest = Arrays.stream(expected).map(Math::abs).max().orElseThrow();
                assertThat(gradient(without, p)).as(p.name()).containsExactly(expected, within(1e-8 * largest));
            }
        }
    }
}
