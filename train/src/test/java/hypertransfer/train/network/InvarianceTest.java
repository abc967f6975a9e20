package hypertransfer.train.network;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.Rig;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** f(cw) = f(w) for every hidden matrix of M1 and for Q and K of M2, and not for M2's others. */
class InvarianceTest {

    @ParameterizedTest
    @EnumSource(Variant.class)
    void scaleMattersJustWhereNoNormFollows(Variant variant) {
        try (Rig rig = new Rig(variant, Rig.MUON)) {
            double loss = rig.loss();
            for (Parameter p : rig.parameters.hidden()) {
                boolean invariant = variant == Variant.M1 || p.name().matches(".*attn\\.[qk]\\.weight");
                for (double c : new double[] {0.5, 3}) {
                    double scaled = rig.scaledLoss(p, c);
                    if (invariant) { // up to the norm's epsilon of 1e-10 beside mean squares of order one
                        assertThat(scaled).as("%s %s", variant, p.name()).isCloseTo(loss, within(1e-8));
                    } else {
                        assertThat(Math.abs(scaled - loss))
                                .as("%s %s", variant, p.name())
                                .isGreaterThan(1e-4);
                    }
                }
            }
            assertThat(rig.loss()).isEqualTo(loss);
        }
    }
}
