package hypertransfer.train.optimizer;

import hypertransfer.core.ShapeFactor;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Tensor;
import hypertransfer.train.Word;
import java.util.List;

/**
 * SOAP's direction, orthogonalised: {@code u = NewtonSchulz(Q^T adam(Q G P^T) P)}. Records in steps to a loss take such a
 * direction since May 2026 (modded-nanogpt, track 3, result 14 and later); there the second moment is that of the momentum and
 * not of the gradient.
 */
public record SoapMuon(Soap soap, Iteration iteration, ShapeFactor shape) implements Direction {
    static final Directions.Facts FACTS = new Directions.Facts(
            List.of("beta1", "beta2", "epsilon", "precondition_frequency", "coefficients", "bf16", "shape_factor"),
            Soap.FACTS.defaults(),
            s -> new SoapMuon((Soap) Soap.FACTS.make().apply(s), s.iteration(), s.shapeFactor()));

    @Override
    public String label() {
        return soap.label() + (shape == ShapeFactor.NONE ? "" : ", " + Word.of(shape) + " factor") + ", "
                + iteration.label();
    }

    @Override
    public List<Memory> memory(int rows, int cols) {
        return soap.memory(rows, cols);
    }

    @Override
    public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
        soap.apply(engine, g, scale, t, state);
        engine.motion().orthogonalize(g, iteration);
    }

    @Override
    public double factor(int rows, int cols) {
        return shape.factor(rows, cols);
    }
}
