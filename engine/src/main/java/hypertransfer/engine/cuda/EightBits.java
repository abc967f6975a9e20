package hypertransfer.engine.cuda;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Fp8.Grid;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.Product.Shape;
import hypertransfer.engine.cuda.kernel.DeviceTensor;
import hypertransfer.engine.cuda.kernel.Fused;
import hypertransfer.engine.cuda.kernel.Geometry;
import hypertransfer.engine.cuda.kernel.Kernel;
import hypertransfer.engine.cuda.kernel.Kernels;
import hypertransfer.engine.cuda.kernel.Precision;

/**
 * Products of eight bits, each sum along the rows of both operands, as the card wants it. Weights are rounded, and what lies the
 * other way is transposed, where it is needed: all of that is 124M weights at 2 to 4 bytes per micro-batch, and each gradient and operand once.
 */
record EightBits(Kernels kernels, Blas blas, Geometry geometry, Scratch scratch, Fused fused) {
    /** What turn_8 reads, see eight.cu. */
    private static final int EIGHT_BITS = 0, WEIGHT = 1, GRADIENT = 2, POWERS = 3;

    private Dims dims() {
        return geometry.dims();
    }

    private int exponent(Role role) {
        return Grid.of(role, dims()).exponent();
    }

    private static int exponent(Tensor w) {
        return Grid.weight(w.cols()).exponent();
    }

    /** What undoes such a power of two. */
    private static double undo(int exponent) {
        return Math.scalb(1.0, -exponent);
    }

    private void turn(int kind, long from, long to, long turned, int rows, int cols, int exponent) {
        double by = Math.scalb(1.0, exponent);
        kernels.launch(Kernel.TURN_8, geometry.turn(rows, cols), from, to, turned, rows, cols, kind, by, 0, 0, 0);
    }

    private Tensor weight(Tensor w) {
        turn(WEIGHT, pointer(w), scratch.weight, 0, w.rows(), w.cols(), exponent(w));
        return at(scratch.weight, w.rows(), w.cols());
    }

    private Tensor turnedWeight(Tensor w) {
        turn(WEIGHT, pointer(w), 0, scratch.weightTurned, w.rows(), w.cols(), exponent(w));
        return at(scratch.weightTurned, w.cols(), w.rows());
    }

    private static Tensor at(long address, int rows, int cols) {
        DeviceTensor tensor = new DeviceTensor("eight", rows, cols, Precision.E4M3);
        tensor.place(address);
        return tensor;
    }

    /** y = x w^T. */
    void product(Tensor x, Tensor w, Tensor y) {
        multiply(
                pointer(weight(w)),
                pointer(x),
                Precision.E4M3,
                y,
                undo(exponent(w) + exponent(Role.OPERAND)),
                0,
                w.cols());
    }

    /** dx = dy w. */
    void input(Tensor dy, Tensor w, Tensor dx) {
        double by = undo(exponent(w) + exponent(Role.OPERAND_GRADIENT));
        multiply(pointer(turnedWeight(w)), pointer(dy), Precision.E5M2, dx, by, 0, w.rows());
    }

    /** dw += dy^T x. */
    void weight(Tensor dy, Tensor x, Tensor dw) {
        turn(EIGHT_BITS, pointer(x), 0, scratch.operandTurned, x.rows(), x.cols(), 0);
        turn(EIGHT_BITS, pointer(dy), 0, scratch.gradientTurned, dy.rows(), dy.cols(), 0);
        double by = undo(exponent(Role.OPERAND) + exponent(Role.OPERAND_GRADIENT));
        multiply(scratch.operandTurned, scratch.gradientTurned, Precision.E5M2, dw, by, 1, dy.rows());
    }

    /** c = by b a^T + keep c, of so many numbers per row of a and b. */
    private void multiply(long a, long b, Precision format, Tensor c, double by, double keep, int k) {
        multiply(a, b, format, pointer(c), ((DeviceTensor) c).format(), c.rows(), c.cols(), by, keep, k);
    }

    private void multiply(
            long a, long b, Precision in, long c, Precision out, int rows, int cols, double by, double keep, int k) {
        blas.multiply(Product.of(new Shape(true, false, cols, rows, k), in, out, a, b, c), by, a, b, keep, c, c);
    }

    void heads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        fused.heads(x, weight(w), qkv, r, rule, undo(exponent(w) + exponent(Role.OPERAND)));
    }

    /** Inside the square stands the square root of the scale of s. */
    void reluSquared(Tensor x, Tensor w, Tensor s) {
        int operand = exponent(Role.OPERAND);
        fused.reluSquared(x, weight(w), s, Math.scalb(1.0, operand / 2 - exponent(w) - operand));
    }

    /** dy and df have the same scale; the slope is 2 sqrt(s). */
    void slope(Tensor dy, Tensor w, Tensor s, Tensor df) {
        fused.slope(dy, turnedWeight(w), s, df, Math.scalb(2.0, -exponent(w) - exponent(Role.OPERAND) / 2));
    }

    /** What attention writes in the place of dqkv, before {@link #round}. */
    Tensor wide(Tensor dqkv) {
        DeviceTensor wide = new DeviceTensor(dqkv.name(), dqkv.rows(), dqkv.cols(), Precision.BF16);
        wide.place(scratch.dqkv);
        return wide;
    }

    void round(Tensor wide, Tensor dqkv) {
        turn(GRADIENT, pointer(wide), pointer(dqkv), 0, wide.rows(), wide.cols(), exponent(Role.OPERAND_GRADIENT));
    }

    /** {@link Head#run} in eight bits. */
    void head(Tensor x, Tensor w, long targets, Tensor losses, double scale, Tensor dx, Tensor dw) {
        int N = dims().N(), C = dims().C(), V = dims().V(), operand = exponent(Role.OPERAND);
        Tensor w8 = weight(w);
        double logit = undo(exponent(w) + operand);
        long target = scratch.target, top = scratch.top;
        kernels.launch(Kernel.HEAD_TOP_8, geometry.lines(N), x, w8, targets, target, top, N, logit);
        long turned = dx == null ? 0 : pointer(turnedWeight(w));
        for (int from = 0; from < N; from += scratch.chunk) {
            int rows = Math.min(scratch.chunk, N - from), unit = Grid.LOGITS.exponent();
            long at = 4L * from, input = pointer(x) + (long) from * C, e = scratch.logits, d = scratch.dlogits;
            long factors = scratch.factors,
                    kept = scratch.scaled,
                    x8 = scratch.operandTurned,
                    d8 = scratch.gradientTurned;
            fused.powers(input, rows, w8, e, top + at, scratch.powers, logit);
            long sums = scratch.powers, loss = pointer(losses) + at;
            Object[] words = {sums, target + at, top + at, loss, factors, kept, Math.scalb(1.0, unit), rows};
            kernels.launch(Kernel.HEAD_LOSS_8, geometry.lines(rows), words);
            if (dx != null) {
                kernels.launch(
                        Kernel.TURN_8,
                        geometry.turn(rows, V),
                        e,
                        d,
                        d8,
                        rows,
                        V,
                        POWERS,
                        1.0,
                        factors,
                        targets + at,
                        kept);
                turn(EIGHT_BITS, input, 0, x8, rows, C, 0);
                Precision in = Precision.E5M2, out = ((DeviceTensor) dx).format();
                long to = pointer(dx) + (long) from * C * out.bytes;
                multiply(turned, d, in, to, out, rows, C, scale * undo(unit + exponent(w)), 0, V);
                multiply(x8, d8, in, pointer(dw), Precision.FLOAT32, V, C, scale * undo(unit + operand), 1, rows);
            }
        }
    }

    /** Of one row. */
    void logits(Tensor x, int row, Tensor w) {
        double by = undo(exponent(w) + exponent(Role.OPERAND));
        long at = pointer(x) + (long) row * x.cols();
        kernels.launch(Kernel.LOGITS_8, geometry.logits(), at, weight(w), scratch.row, by);
    }
}
