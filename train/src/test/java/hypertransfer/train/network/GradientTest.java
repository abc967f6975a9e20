package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.Rig;
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
        try (Rig rig = new Rig(variant, Rig.MUON)) {
            rig.gradient();
            double[] once =
                    rig.engine.read(rig.parameter("blocks.1.mlp.fc.weight").gradient());
            rig.engine.zero(rig.parameters.gradients());
            rig.network.gradient(rig.inputs, rig.targets, 0.25);
            rig.network.gradient(rig.inputs, rig.targets, 0.75);
            double[] twice =
                    rig.engine.read(rig.parameter("blocks.1.mlp.fc.weight").gradient());
            assertThat(twice).containsExactly(once, within(1e-15));
        }
    }
}
