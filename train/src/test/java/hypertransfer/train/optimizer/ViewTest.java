package hypertransfer.train.optimizer;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Clip;
import hypertransfer.core.Mode;
import hypertransfer.core.State;
import hypertransfer.core.Transfer;
import hypertransfer.train.Rig;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Variant;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Parts of hidden matrices as matrices of their own. */
class ViewTest {
    private static final double RATE = 0.1, DECAY = 0.1;

    private static Rig rig(Direction direction, Transfer transfer, String view) {
        Rule rule = new Rule(direction, transfer, 1, 0, View.parse(view), 0);
        return new Rig(
                Variant.M2,
                new Routing(
                        name -> rule, Direction.Adam.standard(), DECAY, other -> 1, Representation.PLAIN, Clip.NONE));
    }

    /** One block of a matrix of so many columns. */
    private record Block(int cols, int top, int left, int rows, int width) {
        double[] of(double[] matrix) {
            double[] part = new double[rows * width];
            Arrays.setAll(part, i -> matrix[(top + i / width) * cols + left + i % width]);
            return part;
        }

        /** What Muon's first step makes of it, written out. */
        double[] moved(double[] w, double[] g) {
            double[] u = Rig.orthogonalized(
                    of(g), rows, width, Direction.Muon.standard().iteration());
            double[] moved = of(w);
            Arrays.setAll(moved, i -> (1 - RATE * DECAY) * moved[i] - RATE * u[i]);
            return moved;
        }
    }

    /** Each part is moved as if the others were not there. */
    @ParameterizedTest
    @CsvSource({
        "heads, attn.q, 4, 8",
        "heads, attn.v, 4, 8",
        "heads, attn.o, 8, 4",
        "heads, mlp.fc, 32, 8",
        "blocks:2x1, mlp.proj, 4, 32",
        "blocks:2x4, mlp.proj, 4, 8",
        "blocks:1x8, attn.k, 8, 1"
    })
    void everyPartIsMovedByItself(String view, String kind, int rows, int cols) {
        try (Rig rig = rig(Direction.Muon.standard(), Mode.BASE.transfer(DECAY), view)) {
            Parameter p = rig.parameter("blocks.1." + kind + ".weight");
            rig.gradient();
            double[] w = rig.engine.read(p.master()), g = rig.engine.read(p.gradient());
            rig.optimizer.step(RATE, 0.01);
            double[] after = rig.engine.read(p.master());
            int wide = p.master().cols();
            for (int top = 0; top < p.master().rows(); top += rows) {
                for (int left = 0; left < wide; left += cols) {
                    Block block = new Block(wide, top, left, rows, cols);
                    assertThat(block.of(after)).containsExactly(block.moved(w, g), within(1e-12));
                }
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"heads", "blocks:2x2"})
    void transfersFollowTheirTargetsPartByPart(String view) {
        for (Direction direction :
                List.of(Direction.Muon.standard(), new NorMuon(Direction.Muon.standard(), 0.95, 1e-10))) {
            double[] base = losses(direction, Mode.BASE, view), ball = losses(direction, Mode.HYPERBALL, view);
            assertThat(losses(direction, Mode.HYPERTRANSFER_PLUS, view)).containsExactly(base, within(1e-9));
            assertThat(losses(direction, Mode.INVERSE_HYPERTRANSFER_PLUS, view)).containsExactly(ball, within(1e-9));
            assertThat(losses(direction, Mode.BASE, "whole")[9]).isNotCloseTo(base[9], within(1e-4));
        }
    }

    private static double[] losses(Direction direction, Mode mode, String view) {
        try (Rig rig = rig(direction, mode.transfer(DECAY), view)) {
            return rig.losses(10, 0.05);
        }
    }

    @Test
    void everyPartHasANameARadiusAndItsOwnNorm() {
        try (Rig rig = rig(Direction.Muon.standard(), Mode.HYPERBALL.transfer(0), "heads")) {
            List<State> start = rig.optimizer.states();
            assertThat(rig.optimizer.matrices().stream().map(Matrix::name))
                    .startsWith("blocks.0.attn.q#0.weight", "blocks.0.attn.q#1.weight", "blocks.0.attn.k#0.weight")
                    .contains("blocks.1.attn.o#1.weight", "blocks.1.mlp.fc.weight")
                    .hasSize(2 * (4 * 2 + 2));
            assertThat(start.get(0).R()).isNotEqualTo(start.get(1).R());
            rig.gradient();
            rig.optimizer.step(0.1, 0.01);
            double[] o = rig.engine.read(rig.parameter("blocks.0.attn.o.weight").master());
            double left = 0;
            for (int i = 0; i < o.length; i++) {
                left += i % 8 < 4 ? o[i] * o[i] : 0;
            }
            State first = start.get(6);
            assertThat(first.matrix()).isEqualTo("blocks.0.attn.o#0.weight");
            assertThat(Math.sqrt(left)).isCloseTo(first.R(), within(1e-12));
        }
    }
}
