package hypertransfer.train.optimizer;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Mode;
import hypertransfer.core.ShapeFactor;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.train.Rig;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Variant;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class OptimizerTest {

    /** Every shape factor is a factor of the rate for a Base optimizer, and nothing at all for a Hyperball. */
    @ParameterizedTest
    @EnumSource(ShapeFactor.class)
    void aShapeFactorScalesTheUpdate(ShapeFactor factor) {
        Direction muon = new Direction.Muon(0.95, false, Direction.Muon.iteration(Coefficients.JORDAN, 0), factor);
        Transfer base = Transfer.plain(new Space.Base(0)), ball = Transfer.plain(new Space.Hyperball());
        try (Rig plain = new Rig(Variant.M1, base);
                Rig scaled = new Rig(Variant.M1, Routing.standard(muon, base));
                Rig plainBall = new Rig(Variant.M1, ball);
                Rig scaledBall = new Rig(Variant.M1, Routing.standard(muon, ball))) {
            double[] byHand = new double[plain.parameters.hidden().size()];
            Arrays.setAll(byHand, k -> {
                var w = plain.parameters.hidden().get(k).master();
                return 0.02 * factor.factor(w.rows(), w.cols());
            });
            plain.gradient();
            plain.optimizer.step(byHand, null, 0.01, null);
            scaled.gradient();
            scaled.optimizer.step(0.02, 0.01);
            assertThat(scaled.loss()).isCloseTo(plain.loss(), within(1e-12));
            assertThat(scaledBall.losses(3, 0.02)).containsExactly(plainBall.losses(3, 0.02), within(1e-12));
        }
    }

    @Test
    void errorsNameTheMatrixAndTheStep() {
        try (Rig rig = new Rig(Variant.M1, Transfer.plain(new Space.Hyperball()))) {
            Parameter v = rig.parameter("blocks.1.attn.v.weight");
            rig.engine.write(v.master(), new double[(int) v.master().size()]);
            rig.optimizer.start();
            rig.gradient();
            assertRefused(
                    () -> rig.optimizer.step(0.01, 0.01), "blocks.1.attn.v.weight", "step 0", "plain Base optimizer");
        }
        try (Rig rig = new Rig(Variant.M1, Rig.MUON)) {
            rig.gradient();
            assertThatThrownBy(() -> rig.optimizer.step(10.0, 0.01))
                    .hasMessageContainingAll("blocks.0.attn.q.weight", "step 0", "learning rate 10.0", "0.1");
            rig.gradient();
            assertThatThrownBy(() -> rig.optimizer.step(0.01, Double.NaN)).hasMessageContaining("AdamW's rate is NaN");
            rig.gradient();
            Parameter o = rig.parameter("blocks.0.attn.o.weight");
            double[] gradient = rig.engine.read(o.gradient());
            gradient[3] = Double.NaN;
            rig.engine.write(o.gradient(), gradient);
            assertRefused(() -> rig.optimizer.step(0.01, 0.01), "blocks.0.attn.o.weight", "step 0", "diverged");
        }
    }

    @Test
    void theRoutingTableNamesEveryParameter() {
        Routing routing = Routing.standard(Direction.Muon.standard(), Mode.HYPERTRANSFER.transfer(0.1));
        try (Rig rig = new Rig(Variant.M1, routing)) {
            String table = routing.table(rig.parameters.all());
            for (Parameter p : rig.parameters.all()) {
                String line = p.name().replaceFirst("blocks\\.\\d+", "blocks.*");
                assertThat(table.lines().filter(l -> l.startsWith("  " + line + " ")))
                        .as(p.name())
                        .hasSize(1)
                        .allMatch(l -> l.contains(line.startsWith("blocks") ? " 2 x " : " 1 x "))
                        .allMatch(l -> l.contains(p.hidden() ? "Muon 0.95" : "Adam 0.9"));
            }
        }
    }
}
