package hypertransfer.train.optimizer;

import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.Motion.Readings;
import hypertransfer.engine.Tensor;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Adam in the eigenbases of the gradient's Gram matrices (Vyas et al., arXiv 2409.11321): {@code L <- beta L + (1 - beta)
 * G G^T}, {@code R} alike of {@code G^T G}; with the rows of {@code Q} and {@code P} near their eigenvectors,
 * {@code u = Q^T adam(Q G P^T) P}. Every few steps the bases take a step of orthogonal iteration, and the mean turns with
 * them. As the authors have it, the first gradient only makes the bases: its own quotient in them would be the signs of
 * roundings.
 *
 * <p>The first bases are made by such steps too, from the identity. The eigenvectors of a first Gram matrix are not defined
 * where it is of low rank, so that neither two engines nor a run and its target would agree on them.
 *
 * @param gramBeta of the Gram matrices
 * @param frequency steps from one turn of the bases to the next
 * @param largestSide a longer side is left as it is
 */
public record Soap(double beta1, double beta2, double epsilon, double gramBeta, int frequency, int largestSide)
        implements Direction {
    private static final int LARGEST_SIDE = 10_000;

    static final Directions.Facts FACTS = new Directions.Facts(
            List.of("beta1", "beta2", "epsilon", "precondition_frequency"),
            Map.of("beta1", 0.95),
            s -> new Soap(s.beta1(), s.beta2(), s.epsilon(), s.beta2(), s.preconditionFrequency(), LARGEST_SIDE));

    /** Turns that make the first bases. */
    private static final int FIRST = 10;

    /** What is added to a Gram matrix, of the root mean square of its eigenvalues. */
    private static final double SHIFT = 1e-3;

    public Soap {
        Limits.fraction("SOAP's beta1", beta1);
        Limits.fraction("SOAP's beta2", beta2);
        Limits.aboveZero("SOAP's epsilon", epsilon);
        Limits.fraction("SOAP's shampoo_beta", gramBeta);
        if (frequency < 1 || largestSide < 1) {
            throw new Refusal("SOAP's precondition_frequency is " + frequency + " and its largest side " + largestSide
                    + "; both must be 1 or more");
        }
    }

    @Override
    public String label() {
        return "SOAP " + beta1 + " " + beta2 + ", Gram " + gramBeta + " every " + frequency
                + (largestSide == LARGEST_SIDE ? "" : ", sides to " + largestSide);
    }

    @Override
    public List<Memory> memory(int rows, int cols) {
        int left = rows > largestSide ? 1 : rows, right = cols > largestSide ? 1 : cols;
        return List.of(
                new Memory("soap.left", left, left),
                new Memory("soap.right", right, right),
                new Memory("soap.leftbasis", left, left),
                new Memory("soap.rightbasis", right, right),
                new Memory("adam.m", rows, cols),
                new Memory("adam.v", rows, cols));
    }

    @Override
    public void apply(Engine engine, List<Tensor> g, double[] scale, long t, List<List<Tensor>> state) {
        List<Tensor> leftBasis = state.get(2), rightBasis = state.get(3), m = state.get(4);
        engine.motion().gram(g, scale, gramBeta, state.get(0), state.get(1));
        if (t == 0) {
            for (List<Tensor> bases : List.of(leftBasis, rightBasis)) {
                bases.forEach(basis -> engine.write(basis, identity(basis.rows())));
            }
            for (int i = 0; i < FIRST; i++) {
                refine(engine, state);
            }
            engine.zero(g);
            return;
        }
        engine.motion().rotate(g, leftBasis, rightBasis, false);
        engine.motion().adam(g, scale, new Moments(beta1, beta2, epsilon, t), m, state.get(5));
        engine.motion().rotate(g, leftBasis, rightBasis, true);
        if (t % frequency == 0) {
            engine.motion().rotate(m, leftBasis, rightBasis, true);
            refine(engine, state);
            engine.motion().rotate(m, leftBasis, rightBasis, false);
        }
    }

    private static void refine(Engine engine, List<List<Tensor>> state) {
        for (int side = 0; side < 2; side++) {
            List<Tensor> gram = state.get(side);
            Readings readings = new Readings(engine.motion().readings(gram, gram));
            double[] shift = new double[gram.size()];
            Arrays.setAll(
                    shift,
                    k -> readings.w(k) > 0
                            ? SHIFT * readings.w(k) / Math.sqrt(gram.get(k).rows())
                            : 1); // no gradient yet, and nothing turns; or no number, which the step refuses
            engine.motion().refine(gram, shift, state.get(2 + side));
        }
    }

    private static double[] identity(int n) {
        double[] values = new double[Math.multiplyExact(n, n)];
        for (int i = 0; i < n; i++) {
            values[i * (n + 1)] = 1;
        }
        return values;
    }
}
