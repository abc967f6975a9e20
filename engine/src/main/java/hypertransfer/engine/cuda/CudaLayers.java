package hypertransfer.engine.cuda;

import static hypertransfer.engine.cuda.kernel.DeviceTensor.eight;
import static hypertransfer.engine.cuda.kernel.DeviceTensor.pointer;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.Product.Shape;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.driver.Launch;
import hypertransfer.engine.cuda.kernel.Blocks;
import hypertransfer.engine.cuda.kernel.DeviceTensor;
import hypertransfer.engine.cuda.kernel.Flash;
import hypertransfer.engine.cuda.kernel.Fused;
import hypertransfer.engine.cuda.kernel.Geometry;
import hypertransfer.engine.cuda.kernel.Kernel;
import hypertransfer.engine.cuda.kernel.Kernels;
import hypertransfer.engine.cuda.kernel.Precision;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** What a network computes, as launches of our kernels and products of cuBLASLt. */
final class CudaLayers implements Layers {
    private static final HeadRule NO_RULE = new HeadRule(false, false, false);

    private final Kernels kernels;
    private final Blas blas;
    private final Geometry geometry;
    private final Scratch scratch;
    private final TokenUpload feed;
    private final Dims dims;
    private final long heads; // of queries, in the whole micro-batch
    private final Fused fused; // null where the card or the sizes do not fit
    private final Blocks blocks; // the same
    private final Head head;
    private final EightBits eight; // null where products take what there is

    CudaLayers(Kernels kernels, Blas blas, Geometry geometry, Storage storage, TokenUpload feed) {
        this.kernels = kernels;
        this.blas = blas;
        this.geometry = geometry;
        this.feed = feed;
        scratch = storage.scratch();
        dims = geometry.dims();
        heads = (long) dims.N() * dims.H();
        fused = kernels.fused ? new Fused(kernels, dims, scratch.rotary) : null;
        blocks = kernels.flash.filter(Flash::whole).isPresent()
                ? new Blocks(kernels, dims, scratch.rotary, scratch.logits)
                : null;
        head = new Head(kernels, blas, geometry, storage, scratch, feed, fused);
        eight = geometry.eight() ? EightBits.of(kernels, blas, geometry, scratch, fused) : null;
        uploadRotations(kernels.device);
    }

    /** The rotary embedding's angles, in double here, so that no kernel needs a cosine. */
    private void uploadRotations(Device device) {
        int half = dims.D() / 2;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(JAVA_FLOAT, 2L * dims.T() * half);
            for (int t = 0; t < dims.T(); t++) {
                for (int i = 0; i < half; i++) {
                    double angle = t * Math.pow(10000, -(double) i / half);
                    host.setAtIndex(JAVA_FLOAT, 2L * (t * half + i), (float) Math.cos(angle));
                    host.setAtIndex(JAVA_FLOAT, 2L * (t * half + i) + 1, (float) Math.sin(angle));
                }
            }
            device.upload(host, scratch.rotary);
            device.synchronize();
        }
    }

    @Override
    public void embed(Tensor w, Tensor x) {
        kernels.launch(Kernel.EMBED, geometry.embed(), w, feed.inputs(), x, dims.N());
    }

    @Override
    public void embedBackward(Tensor dx, Tensor dw) {
        Launch launch = geometry.embedBackward(feed.distinct());
        kernels.launch(Kernel.EMBED_BACKWARD, launch, dx, feed.inputs(), feed.order(), feed.starts(), dw);
    }

    @Override
    public void product(Tensor x, Tensor w, Tensor y) {
        if (eight(x)) {
            eight.product(x, w, y);
            return;
        }
        // Row after row here is column after column there: y^T = w x^T.
        multiply(new Shape(true, false, w.rows(), x.rows(), x.cols()), w, x, 0, y);
    }

    @Override
    public void productInput(Tensor dy, Tensor w, Tensor dx) {
        if (eight(dy)) {
            eight.productInput(dy, w, dx);
        } else {
            multiply(new Shape(false, false, w.cols(), dy.rows(), w.rows()), w, dy, 0, dx);
        }
    }

    @Override
    public void productWeight(Tensor dy, Tensor x, Tensor dw) {
        if (eight(x)) {
            eight.productWeight(dy, x, dw);
        } else {
            multiply(new Shape(false, true, x.cols(), dy.cols(), x.rows()), x, dy, 1, dw);
        }
    }

    private void multiply(Shape shape, Tensor a, Tensor b, double keep, Tensor c) {
        Precision in = geometry.precision(), out = ((DeviceTensor) c).format();
        blas.multiply(shape, in, pointer(a), pointer(b), keep, pointer(c), out);
    }

    @Override
    public void addRows(Tensor y, Tensor b) {
        kernels.launch(Kernel.ADD_ROWS, geometry.addRows(y), y, b, y.rows(), y.cols(), b.rows());
    }

    @Override
    public void addRowsBackward(Tensor dy, Tensor db) {
        kernels.launch(Kernel.ADD_ROWS_BACKWARD, geometry.sums(db), dy, db, dy.rows(), dy.cols(), db.rows());
    }

    @Override
    public void norm(Tensor x, Norm norm, Tensor y) {
        residualNorm(x, null, null, null, norm, y);
    }

    @Override
    public void residualNorm(Tensor h, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor y) {
        Kernel kernel = norm.center() ? Kernel.LAYER_NORM : eight(y) ? Kernel.ROW_NORM_8 : Kernel.ROW_NORM;
        kernels.launch(kernel, rows(h), h, z, zr, out, norm.gain(), y, norm.r(), h.rows());
    }

    @Override
    public void normBackward(Tensor dy, Tensor x, Norm norm, Tensor dx) {
        throughNorm(dy, x, norm, null, dx, null, null, null);
    }

    @Override
    public void residualNormBackward(Tensor dy, Tensor z, Tensor zr, Tensor out, Norm norm, Tensor dh, Tensor dz) {
        throughNorm(dy, out, norm, dh, dh, z, zr, dz);
    }

    private void throughNorm(Tensor dy, Tensor x, Norm norm, Tensor dh, Tensor dx, Tensor z, Tensor zr, Tensor dz) {
        Kernel kernel = norm.center()
                ? Kernel.LAYER_NORM_BACKWARD
                : eight(dz) ? Kernel.ROW_NORM_BACKWARD_8 : Kernel.ROW_NORM_BACKWARD;
        Launch shares = geometry.shares(x.rows(), x.cols());
        Tensor gain = norm.gain(), r = norm.r();
        kernels.launch(kernel, shares, dy, x, gain, r, dh, dx, z, zr, dz, scratch.partial, x.rows());
        kernels.launch(Kernel.COLUMNS, geometry.columns(), scratch.partial, norm.dgain(), shares.x());
    }

    private Launch rows(Tensor x) {
        return geometry.rows(x.rows(), x.cols());
    }

    @Override
    public void heads(Tensor qkv, Tensor r, HeadRule rule) {
        long each = touched(rule), count = dims.N() * each;
        boolean norm = rule.normQK(), turn = rule.rotary();
        kernels.launch(Kernel.HEADS, geometry.heads(count), qkv, r, scratch.rotary, each, norm, turn, count);
    }

    @Override
    public void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule) {
        long each = touched(rule), count = dims.N() * each;
        boolean norm = rule.normQK(), turn = rule.rotary();
        kernels.launch(
                Kernel.HEADS_BACKWARD, geometry.heads(count), dqkv, qkv, r, scratch.rotary, each, norm, turn, count);
    }

    /** Heads of a row that are worked on: values only where they are normed. */
    private int touched(HeadRule rule) {
        return dims.H() + (rule.normV() ? 2 : 1) * dims.G();
    }

    @Override
    public void attention(Tensor qkv, Tensor o, Tensor lse) {
        if (blocks != null) {
            blocks.forward(qkv, o, lse);
        } else if (kernels.flash.isPresent()) {
            Flash flash = kernels.flash.get();
            kernels.launch(flash.forward().kernel(), flash.launch(flash.forward()), qkv, o, lse);
        } else {
            kernels.launch(Kernel.ATTENTION, geometry.warps(dims.H()), qkv, o, lse, heads);
        }
    }

    @Override
    public void attentionBackward(Tensor qkv, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        attentionHeadsBackward(qkv, null, NO_RULE, o, lse, dO, dqkv);
    }

    @Override
    public void attentionHeadsBackward(
            Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        boolean whole = blocks != null && eight(dqkv) == geometry.eight(); // blocks write what the network reads
        if (eight(dqkv) && !whole) {
            Tensor wide = eight.wide(dqkv);
            attentionHeadsBackward(qkv, r, rule, o, lse, dO, wide);
            eight.round(wide, dqkv);
            return;
        }
        long delta = scratch.delta, turns = scratch.rotary;
        Flash flash = kernels.flash.orElse(null);
        if (whole) {
            blocks.backward(qkv, r, rule, o, lse, dO, dqkv);
            return;
        }
        if (flash != null && flash.hopper()) { // the kernel of queries writes the row sums that the one of keys reads
            boolean norm = rule.normQK(), turn = rule.rotary(), normV = rule.normV();
            Launch query = flash.launch(flash.query()), key = flash.launch(flash.key());
            kernels.launch(Kernel.HOPPER_QUERY, query, qkv, o, lse, delta, dO, dqkv, r, turns, norm, turn);
            kernels.launch(Kernel.HOPPER_KEY, key, qkv, lse, delta, dO, dqkv, r, turns, norm, turn, normV);
            return;
        }
        kernels.launch(Kernel.ATTENTION_DELTA, geometry.delta(), o, dO, delta, heads);
        if (flash != null) {
            kernels.launch(Kernel.FLASH_KEY, flash.launch(flash.key()), qkv, lse, delta, dO, dqkv);
            kernels.launch(Kernel.FLASH_QUERY, flash.launch(flash.query()), qkv, lse, delta, dO, dqkv);
        } else {
            kernels.launch(Kernel.ATTENTION_QUERY, geometry.warps(dims.H()), qkv, lse, delta, dO, dqkv, heads);
            long keys = (long) dims.N() * dims.G();
            kernels.launch(Kernel.ATTENTION_KEY, geometry.warps(dims.G()), qkv, lse, delta, dO, dqkv, keys);
        }
        if (!rule.nothing()) {
            headsBackward(dqkv, qkv, r, rule);
        }
    }

    @Override
    public void productHeads(Tensor x, Tensor w, Tensor qkv, Tensor r, HeadRule rule) {
        if (eight(x)) {
            eight.heads(x, w, qkv, r, rule);
        } else if (fused != null) {
            fused.heads(x, w, qkv, r, rule, 1);
        } else {
            Layers.super.productHeads(x, w, qkv, r, rule);
        }
    }

    @Override
    public void productActivation(Tensor x, Tensor w, Tensor f, Tensor s, Nonlinearity kind) {
        if (eight(x)) {
            eight.reluSquared(x, w, s);
        } else if (fused != null && kind == Nonlinearity.RELU_SQUARED) {
            fused.reluSquared(x, w, s, 1);
        } else {
            Layers.super.productActivation(x, w, f, s, kind);
        }
    }

    @Override
    public void productActivationBackward(
            Tensor dy, Tensor w, Tensor f, Tensor s, Tensor ds, Tensor df, Nonlinearity kind) {
        if (eight(dy)) {
            eight.slope(dy, w, s, df);
        } else if (fused != null && kind == Nonlinearity.RELU_SQUARED) {
            fused.slope(dy, w, s, df, 1);
        } else {
            Layers.super.productActivationBackward(dy, w, f, s, ds, df, kind);
        }
    }

    @Override
    public void activation(Tensor f, Tensor fr, Tensor s, Nonlinearity kind) {
        kernels.launch(Kernel.valueOf(kind.name()), rows(s), f, fr, s, s.rows());
    }

    @Override
    public void activationBackward(Tensor f, Tensor fr, Tensor ds, Tensor df, Nonlinearity kind) {
        kernels.launch(Kernel.valueOf(kind + "_BACKWARD"), rows(ds), f, fr, ds, df, ds.rows());
    }

    @Override
    public void head(Tensor x, Tensor w, Tensor losses, double scale, Tensor dx, Tensor dw) {
        if (eight(x)) {
            eight.head(x, w, feed.targets(), losses, scale, dx, dw);
        } else {
            head.run(x, w, losses, scale, dx, dw);
        }
    }

    @Override
    public double[] logits(Tensor x, int row, Tensor w) {
        if (eight(x)) {
            eight.logits(x, row, w);
            return head.logits(w);
        }
        return head.logits(x, row, w);
    }
}
