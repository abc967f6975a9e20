package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;
import java.util.List;

/**
 * Adam in the eigenbases of the gradient's Gram matrices (Vyas et al., arXiv 2409.11321): {@code L <- beta L + (1 - beta)
 * G G^T}, {@code R} alike of {@code G^T G}; with the rows of {@code Q} and {@code P} near their eigenvectors, {@code Q^T adam(Q
 * G P^T) P}. Every few steps the bases take a step of orthogonal iteration, and the mean turns with them. As the authors
 * have it, the first gradient only makes the bases. They start from the identity, by such steps too: the eigenvectors of a
 * matrix of low rank are not defined, and a run and its target would not agree on them.
 *
 * <p>DJL has no QR, so the rows are made orthonormal on the computer's own processor: n^3 operations for a side of n numbers.
 *
 * @param adam its betas and its epsilon, which must be above zero
 * @param gramBeta of the Gram matrices, from 0 to less than 1
 * @param frequency steps from one turn of the bases to the next
 * @param largestSide a longer side is left as it is
 */
public record Soap(Adam adam, double gramBeta, int frequency, int largestSide) implements Direction {
    private static final int FIRST = 10; // turns that make the first bases
    private static final double SHIFT = 1e-3; // added to a Gram matrix, of the root mean square of its eigenvalues

    /** Refuses what is out of range. */
    public Soap {
        Limits.aboveZero("SOAP's epsilon", adam.epsilon());
        Limits.fraction("gramBeta", gramBeta);
        if (frequency < 1 || largestSide < 1) {
            throw new Refusal("SOAP's frequency is " + frequency + " and its largest side " + largestSide
                    + "; both must be 1 or more");
        }
    }

    @Override
    public String signature() {
        return "soap(" + adam.signature() + ", " + gramBeta + ", " + frequency + ", " + largestSide + ")";
    }

    @Override
    public List<Shape> memory(Shape parameter) {
        Shape left = square(parameter.get(0)), right = square(parameter.get(1));
        return List.of(left, right, left, right, parameter, parameter);
    }

    private Shape square(long side) {
        return side > largestSide ? new Shape(1, 1) : new Shape(side, side);
    }

    @Override
    public void check(String name, Shape parameter) {
        Muon.matrix(name, parameter, "SOAP has bases for matrices");
    }

    @Override
    public NDArray of(NDArray gradient, List<NDArray> memory, long step) {
        NDArray left = memory.get(2), right = memory.get(3), m = memory.get(4);
        try (NDArray turned = gradient.transpose()) {
            gram(memory.get(0), gradient, turned);
            gram(memory.get(1), turned, gradient);
        }
        if (step == 0) {
            for (int side = 0; side < 2; side++) {
                NDArray basis = memory.get(2 + side);
                try (NDArray eye = basis.getManager().eye((int) basis.getShape().get(0))) {
                    replace(basis, eye);
                }
                for (int i = 0; i < FIRST; i++) {
                    refine(memory.get(side), basis);
                }
            }
            return gradient.zerosLike();
        }
        NDArray u;
        try (NDArray seen = rotated(gradient, left, right, false);
                NDArray quotient = adam.of(seen, memory.subList(4, 6), step - 1)) {
            u = rotated(quotient, left, right, true);
        }
        if (step % frequency == 0) {
            try (NDArray mean = rotated(m, left, right, true)) {
                refine(memory.get(0), left);
                refine(memory.get(1), right);
                try (NDArray again = rotated(mean, left, right, false)) {
                    replace(m, again);
                }
            }
        }
        return u;
    }

    /** {@code P <- beta P + (1 - beta) x y}. */
    private void gram(NDArray p, NDArray x, NDArray y) {
        if (p.getShape().get(0) == x.getShape().get(0)) {
            try (NDArray product = x.matMul(y)) {
                Means.mix(p, gramBeta, product);
            }
        }
    }

    /** {@code left x right^T}, or back {@code left^T x right}; a basis of one number leaves its side as it is. */
    private static NDArray rotated(NDArray x, NDArray left, NDArray right, boolean back) {
        try (NDArray l = left.transpose();
                NDArray r = right.transpose();
                NDArray above = left.size() == 1 ? x.duplicate() : (back ? l : left).matMul(x)) {
            return right.size() == 1 ? above.duplicate() : above.matMul(back ? right : r);
        }
    }

    private static void refine(NDArray gram, NDArray basis) {
        int n = (int) gram.getShape().get(0);
        double norm = Measure.norm(gram);
        if (n == 1 || !(norm > 0)) { // no gradient yet, or no number, which the step refuses
            return;
        }
        try (NDArray shifted = basis.mul(SHIFT * norm / Math.sqrt(n));
                NDArray product = basis.matMul(gram).addi(shifted);
                NDArray exact = product.toType(DataType.FLOAT64, true)) {
            double[] rows = exact.toDoubleArray();
            orthonormalize(rows, n);
            try (NDArray made = basis.getManager().create(rows, basis.getShape());
                    NDArray typed = made.toType(basis.getDataType(), true)) {
                replace(basis, typed);
            }
        }
    }

    private static void replace(NDArray old, NDArray values) {
        old.subi(old).addi(values);
    }

    /** Each row against those above it, twice: what rounding left the first time is taken away the second. */
    private static void orthonormalize(double[] rows, int n) {
        for (int i = 0; i < n; i++) {
            for (int twice = 0; twice < 2; twice++) {
                for (int j = 0; j < i; j++) {
                    double along = 0;
                    for (int k = 0; k < n; k++) {
                        along += rows[i * n + k] * rows[j * n + k];
                    }
                    for (int k = 0; k < n; k++) {
                        rows[i * n + k] -= along * rows[j * n + k];
                    }
                }
                double squares = 0;
                for (int k = 0; k < n; k++) {
                    squares += rows[i * n + k] * rows[i * n + k];
                }
                double length = Math.sqrt(squares);
                for (int k = 0; k < n; k++) {
                    rows[i * n + k] /= length;
                }
            }
        }
    }
}
