package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Format;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.Rig;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Routing;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Networks that differ from M1 and M2: their gradients, and which of their matrices are scale-invariant. */
class DesignTest {
    private static final Routing ROUTING = Routing.standard(Direction.Muon.standard(), Rig.MUON);

    static Stream<Design> designs() {
        return Differences.designs().values().stream();
    }

    @ParameterizedTest
    @MethodSource("designs")
    void gradientsAreFiniteDifferences(Design design) {
        assertThat(Differences.of(dims -> Engines.open("reference", dims), design))
                .allMatch(parameter -> parameter.accepted(Format.FLOAT64) && parameter.largest() > 1e-4);
        assertThat(Differences.of(dims -> Engines.open("cpu", dims), design))
                .allMatch(parameter -> parameter.accepted(Format.FLOAT32));
    }

    @Test
    void aWrongGradientIsNotAccepted() {
        assertThat(new Differences(null, "w", 2e-6, 1).accepted(Format.FLOAT64)).isFalse();
        assertThat(new Differences(null, "w", Double.NaN, 1).accepted(Format.BF16))
                .isFalse();
    }

    @ParameterizedTest
    @MethodSource("designs")
    void scaleMattersJustWhereNoNormFollows(Design design) {
        try (Rig rig = new Rig("reference", Rig.architecture(design), ROUTING, 1, false)) {
            double loss = rig.loss();
            for (Parameter p : rig.parameters.hidden()) {
                double change = Math.abs(rig.scaledLoss(p, 3) - loss);
                if (design.invariant(p.name())) {
                    assertThat(change).as(p.name()).isLessThan(1e-8);
                } else {
                    assertThat(change).as(p.name()).isGreaterThan(1e-5);
                }
            }
        }
    }

    @ParameterizedTest
    @MethodSource("designs")
    void recomputationAndMicroBatchesChangeNothing(Design design) {
        int[] others = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
        try (Rig one = new Rig("reference", Rig.architecture(design), ROUTING, 1, false);
                Rig two = new Rig("reference", Rig.architecture(design), ROUTING, 2, true)) {
            one.requireMicroBatchesAddUp(two, others, 1e-13);
        }
    }

    @ParameterizedTest
    @MethodSource("designs")
    void outlinesAreThoseOfTheParameters(Design design) {
        Architecture architecture = Rig.architecture(design);
        try (Rig rig = new Rig("reference", architecture, ROUTING, 1, false)) {
            assertThat(rig.parameters.all().stream()
                            .map(p -> new Outline(
                                    p.name(), p.weight().rows(), p.weight().cols(), p.hidden())))
                    .isEqualTo(architecture.outlines());
        }
    }

    /** With a tied embedding, biases and learned positions it has as many parameters as it is known for. */
    @Test
    void gpt2IsAsLargeAsGpt2() {
        Design gpt2 = designs()
                .filter(design -> design.positions() == Design.Positions.LEARNED)
                .findFirst()
                .orElseThrow();
        Architecture small = new Architecture(gpt2, 50_257, 12, 768, 64, 1024);
        assertThat(small.parameters()).isEqualTo(small.parametersWithoutHead()).isEqualTo(124_439_808);
    }
}
