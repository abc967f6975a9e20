package hypertransfer.engine;

import java.util.Collections;
import java.util.List;

/**
 * How an optimizer moves weights: operations over lists of tensors, the same for every network. An entry of a list has its
 * own scale; the lists of one call are of one length, and what stands at one place has one shape, or what {@link Shapes} says.
 */
public interface Motion {
    /**
     * m = beta m + (1 - beta) scale g, and g = m; with nesterov g = beta m + (1 - beta) scale g. A scale for each
     * matrix.
     */
    @Shapes("g[] scale* - - m[]:r,c")
    void momentum(List<Tensor> g, double[] scale, double beta, boolean nesterov, List<Tensor> m);

    /**
     * Adam's quotient in place of the scaled gradient: m = beta1 m + (1 - beta1) g,
     * v = beta2 v + (1 - beta2) g^2, g = (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).
     */
    @Shapes("g[] scale* moments m[]:r,c v[]:r,c")
    void adam(List<Tensor> g, double[] scale, Moments moments, List<Tensor> m, List<Tensor> v);

    /**
     * g = sign(look m + (1 - look) scale g) and m = keep m + (1 - keep) scale g, both from the m that was there. The sign
     * of zero is zero. A scale for each matrix.
     */
    @Shapes("g[] scale* - - m[]:r,c")
    void sign(List<Tensor> g, double[] scale, double look, double keep, List<Tensor> m);

    /** g = scale g, and where that is larger than the limit in absolute value, the limit with its sign. */
    @Shapes("g[] scale* limit>0")
    void clamp(List<Tensor> g, double[] scale, double limit);

    /**
     * Divides each number by the root of its mean square over the steps and gives the result a norm: v = beta v +
     * (1 - beta) g^2, p = g / (sqrt(v) + epsilon), g = norm p / (|p| + epsilon).
     *
     * @param norm one per matrix, or null: then g keeps its own
     * @param v one per matrix, of its shape, or of one number per row: then g^2 stands for its mean over the row
     */
    @Shapes("g[] - epsilon>0 norm?* v[]:r,c|r,1")
    void equalize(List<Tensor> g, double beta, double epsilon, double[] norm, List<Tensor> v);

    /**
     * Copies the blocks of a matrix, all of one shape, row of blocks after row of blocks, each from left to right; with back
     * the reverse.
     */
    @Shapes("whole blocks[!] -")
    void cut(Tensor whole, List<Tensor> blocks, boolean back);

    /** Newton-Schulz in place, after a division by the Frobenius norm; a zero matrix stays zero. */
    @Shapes("x[]:hidden,Muon iteration")
    void orthogonalize(List<Tensor> x, Iteration iteration);

    /**
     * The Gram matrices of both sides, which are symmetric, over the steps: with G = scale g, left = beta left + (1 - beta) G G^T and right =
     * beta right + (1 - beta) G^T G. A side whose tensor is of one number is left out.
     */
    @Shapes("g[]:hidden,SOAP scale* - left[]:r,r|1,1 right[]:c,c|1,1")
    void gram(List<Tensor> g, double[] scale, double beta, List<Tensor> left, List<Tensor> right);

    /**
     * g in other bases, whose vectors are the rows of left and right: g = left g right^T; with back the reverse,
     * g = left^T g right. A basis of one number leaves its side as it is.
     */
    @Shapes("g[]:hidden,SOAP left[]:r,r|1,1 right[]:c,c|1,1 -")
    void rotate(List<Tensor> g, List<Tensor> left, List<Tensor> right, boolean back);

    /**
     * Turns bases towards the eigenvectors of symmetric matrices, by one step of orthogonal iteration: every row q becomes (gram +
     * shift I) q, and then the rows are made orthonormal, each against those above it. Their signs are the engine's own. A
     * basis of one number stays.
     *
     * @param shift one per matrix, above zero: it keeps the rows apart where the Gram matrix is of low rank
     */
    @Shapes("gram[]:square shift*>0 basis[]:r,c")
    void refine(List<Tensor> gram, double[] shift, List<Tensor> basis);

    /** |w|, |u|, &lt;u,w&gt; for each pair, three numbers after three, summed in double. */
    @Shapes("w[!] u[!]:r,c")
    double[] readings(List<Tensor> w, List<Tensor> u);

    /** w = keep w - push u for each pair. */
    @Shapes("w[!] u[]:r,c keep* push*")
    void move(List<Tensor> w, List<Tensor> u, double[] keep, double[] push);

    /**
     * weight = scale master for each pair: what the network is evaluated at. From an exact master the product, in double, is
     * rounded once, to the grid or to the weight's format, whichever is coarser. From a float32 master it is rounded more than
     * once: the cpu takes scale and product as float32 and rounds that to the grid; cuda takes the product in double and rounds
     * it to the grid, to float32, and to the weight's format.
     *
     * @param grid the bits of mantissa that a weight keeps, {@link Format#FULL_GRID} for all that its format has. Weights that
     *     are rounded from exact masters to a grid coarser than the masters' error are the same in two runs whose
     *     masters agree except for that error
     */
    @Shapes("masters[!] scale* grid weights[]:r,c")
    void represent(List<Tensor> masters, double[] scale, int grid, List<Tensor> weights);

    /**
     * How Adam averages gradients at one step.
     *
     * @param beta1 what is kept of the mean of gradients
     * @param beta2 what is kept of the mean of their squares
     * @param epsilon added to the root that is divided by
     * @param t the step, from 1
     */
    record Moments(double beta1, double beta2, double epsilon, long t) {
        /** The weights of all gradients so far in their mean, which started at zero. */
        public double weight1() {
            return 1 - StrictMath.pow(beta1, t);
        }

        /** The same of their squares. */
        public double weight2() {
            return 1 - StrictMath.pow(beta2, t);
        }
    }

    /**
     * The odd polynomials that Newton-Schulz applies one after the other to the singular values of a matrix, each
     * {@code a x + b x^3 + c x^5}.
     *
     * @param bf16 whether every product's result is rounded to bfloat16, as most GPU implementations do
     */
    record Iteration(List<Step> steps, boolean bf16) {
        public record Step(double a, double b, double c) {}

        public Iteration {
            steps = List.copyOf(steps);
            if (steps.isEmpty()) {
                throw new EngineException("a Newton-Schulz iteration needs at least one step");
            }
        }

        /** One step repeated. */
        public static Iteration repeated(int steps, double a, double b, double c) {
            return new Iteration(Collections.nCopies(steps, new Step(a, b, c)), false);
        }

        public Iteration inBf16() {
            return new Iteration(steps, true);
        }

        /** What it is, for people. */
        public String label() {
            Step first = steps.getFirst();
            boolean one = steps.stream().allMatch(first::equals);
            return steps.size() + (one ? " steps of (" : " steps from (") + first.a + ", " + first.b + ", " + first.c
                    + ")" + (bf16 ? " in bf16" : "");
        }
    }

    /**
     * Three numbers of every pair of tensors w, u, one pair after the other: what {@link Motion#readings} takes.
     *
     * @param numbers |w|, |u| and their inner product, of each pair
     */
    record Readings(double[] numbers) {
        /** How many numbers a pair has. */
        public static final int EACH = 3;

        public double w(int k) {
            return numbers[EACH * k];
        }

        public double u(int k) {
            return numbers[EACH * k + 1];
        }

        /** The inner product. */
        public double uw(int k) {
            return numbers[EACH * k + 2];
        }
    }
}
