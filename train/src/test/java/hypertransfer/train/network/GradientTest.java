package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.Rig;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Routing;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The backward pass against finite differences of the forward pass, for every single parameter. */
class GradientTest {
    private static final double H = 1e-5;

    @ParameterizedTest
    @EnumSource(Variant.class)
    void everyParameterAgreesWithFiniteDifferences(Variant variant) {
        try (Rig rig = new Rig(variant, Rig.MUON)) {
            rig.gradient();
            for (Parameter p : rig.parameters.all()) {
                double[] gradient = rig.engine.read(p.gradient());
                double[] weights = rig.engine.read(p.weight());
                double largest = 0;
                for (int i = 0; i < weights.length; i++) {
                    double w = weights[i];
                    weights[i] = w + H;
                    rig.engine.write(p.weight(), weights);
                    double above = rig.loss();
                    weights[i] = w - H;
                    rig.engine.write(p.weight(), weights);
                    double below = rig.loss();
                    weights[i] = w;
                    double difference = (above - below) / (2 * H);
                    // the truncation is H^2 times a third derivative, the rounding 1e-16 / H
                    assertThat(gradient[i])
                            .as("%s %s [%d]", variant, p.name(), i)
                            .isCloseTo(difference, within(2e-8 + 1e-6 * Math.abs(difference)));
                    largest = Math.max(largest, Math.abs(gradient[i]));
                }
                rig.engine.write(p.weight(), weights);
                assertThat(largest).as("some gradient of %s", p.name()).isGreaterThan(1e-4);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Variant.class)
    void microBatchesAddUp(Variant variant) {
        Routing routing = Routing.standard(Direction.Muon.standard(), Rig.MUON);
        int[] others = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3};
        try (Rig one = new Rig(variant, routing, 1, false);
                Rig two = new Rig(variant, routing, 2, false)) {
            one.requireMicroBatchesAddUp(two, others, 1e-14);
            double mean = (one.loss() + one.network.loss(others, one.targets)) / 2;
            assertThat(two.network.meanLoss()).isCloseTo(mean, within(1e-14));
        }
    }

    /** In M1 the norm after fc, which an engine of bfloat16 goes without, changes no loss and no gradient. */
    @Test
    void theNormAfterFcCancels() {
        Routing routing = Routing.standard(Direction.Muon.standard(), Rig.MUON);
        try (Rig kept = new Rig(Variant.M1, routing);
                Rig without = Rig.coarse(routing)) {
            assertThat(without.memory.total()).as("it is left out").isLessThan(kept.memory.total());
            kept.gradient();
            without.gradient();
            assertThat(without.network.meanLoss()).isCloseTo(kept.network.meanLoss(), within(1e-9));
            for (Parameter p : kept.parameters.all()) {
                double[] expected = kept.engine.read(p.gradient());
                double[] gradient =
                        without.engine.read(without.parameter(p.name()).gradient());
                double largest = Arrays.stream(expected).map(Math::abs).max().orElseThrow();
                for (int i = 0; i < expected.length; i++) {
                    assertThat(gradient[i]).as(p.name()).isCloseTo(expected[i], within(1e-8 * largest));
                }
            }
        }
    }

    /** What is computed again is the same to the last bit, and takes less memory. */
    @ParameterizedTest
    @EnumSource(Variant.class)
    void recomputationChangesNothingButTheMemory(Variant variant) {
        Routing routing = Routing.standard(Direction.Muon.standard(), Rig.MUON);
        try (Rig kept = new Rig(variant, routing, 1, false);
                Rig again = new Rig(variant, routing, 1, true)) {
            kept.gradient();
            again.gradient();
            assertThat(again.network.meanLoss()).isEqualTo(kept.network.meanLoss());
            for (Parameter p : kept.parameters.all()) {
                assertThat(again.engine.read(again.parameter(p.name()).gradient()))
                        .as(p.name())
                        .isEqualTo(kept.engine.read(p.gradient()));
            }
            assertThat(again.memory.total()).isLessThan(kept.memory.total());
        }
    }
}
