package hypertransfer.engine.cuda;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;

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
 * Products of eight bits. The card sums along the rows of both operands only, so what lies the other way is transposed just before, at
 * the speed of memory. Weights are rounded at every use: of 124M that takes 0.2 ms, and nothing has to follow them.
 *
 * @param operand the exponent of the scale of activations, gradient that of gradients
 */
record EightBits(
        Kernels kernels, Blas blas, Geometry geometry, Scratch scratch, Fused fused, int operand, int gradient) {
    /** What turn_8 reads, see eight.cu. */
    private static final int SAME = 0, WEIGHT = 1, GRADIENT = 2, POWERS = 3;

    static EightBits of(Kernels kernels, Blas blas, Geometry geometry, Scratch scratch, Fused fused) {
        int operand = Grid.of(Role.OPERAND, geometry.dims()).exponent();
        int gradient = Grid.of(Role.OPERAND_GRADIENT, geometry.dims()).exponent();
        return new EightBits(kernels, blas, geometry, scratch, fused, operand, gradient);
    }

    private static int exponent(Tensor w) {
        return Grid.weight(w.cols()).exponent();
    }

    private static double power(int exponent) {
        return Math.scalb(1.0, exponent);
    }

    private static DeviceTensor at(long address, int rows, int cols, Precision format) {
        DeviceTensor tensor = new DeviceTensor("eight", rows, cols, format);
        tensor.place(address);
        return tensor;
    }

    private void turn(int kind, Tensor from, long to, long turned, int exponent) {
        int rows = from.rows(), cols = from.cols();
        Object[] words = {from, to, turned, rows, cols, kind, power(exponent), 0, 0, 0};
        kernels.launch(Kernel.TURN_8, geometry.turn(rows, cols), words);
    }

    private DeviceTensor weight(Tensor w) {
        turn(WEIGHT, w, scratch.weight, 0, exponent(w));
        return at(scratch.weight, w.rows(), w.cols(), Precision.E4M3);
    }

    private DeviceTensor turnedWeight(Tensor w) {
        turn(WEIGHT, w, 0, scratch.weightTurned, exponent(w));
        return at(scratch.weightTurned, w.cols(), w.rows(), Precision.E4M3);
    }

    private DeviceTensor turned(Tensor x, long to) {
        turn(SAME, x, 0, to, 0);
        return at(to, x.cols(), x.rows(), ((DeviceTensor) x).format());
    }

    /** c = by b a^T + keep c. */
    private void multiply(DeviceTensor a, Tensor b, Tensor c, double by, double keep) {
        Shape shape = new Shape(true, false, a.rows(), b.rows(), a.cols());
        long left = a.pointer(), right = pointer(b), to = pointer(c);
        Precision in = ((DeviceTensor) b).format(), out = ((DeviceTensor) c).format();
        blas.multiply(Product.of(shape, in, out, left, right, to), by, left, right, keep, to, to);
    }

    void product(Tensor x, Tensor w, Tensor y) {
        multiply(weight(w), x, y, power(-exponent(w) - operand), 0);
    }

    void productInput(Tensor dy, Tensor w, Tensor dx) {
        multiply(turnedWeight(w), dy, dx, power(-exponent(w) - gradient), 0);
    }

    void productWeight(Tensor dy, Tensor x, Tensor dw) {
        DeviceTensor right = turned(dy, scratch.gradientTurned);
        multiply(turned(x, scratch.operandTurned), right, dw, power(-operand - gradient), 1);
    }

    void heads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        fused.heads(x, weight(w), qkv, r, rule, power(-exponent(w) - operand));
    }

    /** Inside the square stands the square root of the scale of s. */
    void reluSquared(Tensor x, Tensor w, Tensor s) {
        fused.reluSquared(x, weight(w), s, power(operand / 2 - exponent(w) - operand));
    }

    /** dy and df have the same scale; the slope is 2 sqrt(s). */
    void slope(Tensor dy, Tensor w, Tensor s, Tensor df) {
        fused.slope(dy, turnedWeight(w), s, df, power(1 - exponent(w) - operand / 2));
    }

    /** Where attention's kernels cannot write eight bits: a place for dqkv in bfloat16, and its rounding. */
    DeviceTensor wide(Tensor dqkv) {
        return at(scratch.logits, dqkv.rows(), dqkv.cols(), Precision.BF16);
    }

    void round(Tensor wide, Tensor dqkv) {
        turn(GRADIENT, wide, pointer(dqkv), 0, gradient);
    }

    /** {@link Head#run} in eight bits. */
    void head(Tensor x, Tensor w, long targets, Tensor losses, double scale, Tensor dx, Tensor dw) {
        int N = x.rows(), V = w.rows(), unit = Grid.LOGITS.exponent();
        DeviceTensor w8 = weight(w), turned = dx == null ? null : turnedWeight(w);
        double logit = power(-exponent(w) - operand);
        long sums = scratch.powers, e = scratch.logits, factors = scratch.factors, kept = scratch.scaled;
        kernels.launch(Kernel.HEAD_TOP_8, geometry.lines(N), x, w8, targets, scratch.target, scratch.top, N, logit);
        for (int from = 0; from < N; from += scratch.chunk) {
            int rows = Math.min(scratch.chunk, N - from);
            long at = 4L * from, target = scratch.target + at, top = scratch.top + at, loss = pointer(losses) + at;
            DeviceTensor input = ((DeviceTensor) x).slice("x", from, rows);
            fused.powers(input.pointer(), rows, w8, e, top, sums, logit);
            Object[] words = {sums, target, top, loss, factors, kept, power(unit), rows};
            kernels.launch(Kernel.HEAD_LOSS_8, geometry.lines(rows), words);
            if (dx != null) {
                DeviceTensor d = at(scratch.dlogits, rows, V, Precision.E5M2);
                DeviceTensor d8 = at(scratch.gradientTurned, V, rows, Precision.E5M2);
                Object[] all = {e, d, d8, rows, V, POWERS, 1.0, factors, targets + at, kept};
                kernels.launch(Kernel.TURN_8, geometry.turn(rows, V), all);
                Tensor to = ((DeviceTensor) dx).slice("dx", from, rows);
                multiply(turned, d, to, scale * power(-unit - exponent(w)), 0);
                multiply(turned(input, scratch.operandTurned), d8, dw, scale * power(-unit - operand), 1);
            }
        }
    }

    /** Of one row, to scratch. */
    void logits(Tensor x, int row, Tensor w) {
        long at = pointer(x) + (long) row * x.cols();
        double by = power(-exponent(w) - operand);
        kernels.launch(Kernel.LOGITS_8, geometry.logits(), at, weight(w), scratch.row, by);
    }
}
