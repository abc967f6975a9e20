package hypertransfer.train.optimizer;

import hypertransfer.core.Limits;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Tensor;
import java.util.List;
import java.util.Map;

/**
 * The sign of a mean of gradients in which the newest counts more than in the mean that is kept (Chen et al., arXiv
 * 2302.06675): {@code u = sign(beta1 m + (1 - beta1) g)}, then {@code m <- beta2 m + (1 - beta2) g}, from zero.
 */
public record Lion(double beta1, double beta2) implements Direction {
    static final Directions.Facts FACTS =
            new Directions.Facts(List.of("beta1", "beta2"), Map.of("beta2", 0.99), s -> new Lion(s.beta1(), s.beta2()));

    public Lion {
        Limits.fraction("Lion's beta1", beta1);
        Limits.fraction("Lion's beta2", beta2);
    }

    @Override
    public String label() {
        return "Lion " + beta1 + " " + beta2;
    }

    @Override
    public List<Memory> memory(int rows, int cols) {
        return List.of(new Memory("lion.m", rows, cols));
    }

    @Override
    public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
        engine.motion().sign(g, scale, beta1, beta2, state.getFirst());
    }
}
