package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import hypertransfer.engine.Dims;
import hypertransfer.engine.HeadRule;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.driver.Launch;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/** What happens to queries, keys and values: their norms and rotations, and attention itself. */
final class Attention {
    private final Kernels kernels;
    private final Geometry geometry;
    private final Scratch scratch;
    private final Dims dims;
    private final long heads; // of queries, in the whole micro-batch

    Attention(Device device, Kernels kernels, Geometry geometry, Scratch scratch) {
        this.kernels = kernels;
        this.geometry = geometry;
        this.scratch = scratch;
        dims = geometry.dims();
        heads = (long) dims.N() * dims.H();
        uploadRotations(device);
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
            device.upload(host, scratch.rotary, host.byteSize());
            device.synchronize();
        }
    }

    void heads(Tensor qkv, Tensor r, HeadRule rule) {
        long each = touched(rule), count = dims.N() * each;
        boolean norm = rule.normQK(), turn = rule.rotary();
        kernels.launch(Kernel.HEADS, geometry.heads(count), qkv, r, scratch.rotary, each, norm, turn, count);
    }

    void headsBackward(Tensor dqkv, Tensor qkv, Tensor r, HeadRule rule) {
        long each = touched(rule), count = dims.N() * each;
        boolean norm = rule.normQK(), turn = rule.rotary();
        kernels.launch(
                Kernel.HEADS_BACKWARD, geometry.heads(count), dqkv, qkv, r, scratch.rotary, each, norm, turn, count);
    }

    /** Heads of a row that are worked on: values only where they are normed. */
    private int touched(HeadRule rule) {
        return dims.H() + (rule.normV() ? 2 : 1) * dims.G();
    }

    void forward(Tensor qkv, Tensor o, Tensor lse) {
        if (kernels.flash().isPresent()) {
            Flash flash = kernels.flash().get();
            Kernel kernel = flash.hopper() ? Kernel.HOPPER : Kernel.FLASH;
            kernels.launch(kernel, flash.launch(flash.forward()), qkv, o, lse);
        } else {
            kernels.launch(Kernel.ATTENTION, geometry.warps(dims.H()), qkv, o, lse, heads);
        }
    }

    /** Attention, then heads, whose rule may ask for nothing. */
    void backward(Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        Flash flash = kernels.flash().orElse(null);
        if (flash != null && flash.hopper()) {
            fused(flash, qkv, r, rule, o, lse, dO, dqkv);
            return;
        }
        long delta = scratch.delta;
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

    /** The kernel of queries writes the row sums that the one of keys reads. */
    private void fused(Flash flash, Tensor qkv, Tensor r, HeadRule rule, Tensor o, Tensor lse, Tensor dO, Tensor dqkv) {
        long delta = scratch.delta, turns = scratch.rotary;
        boolean norm = rule.normQK(), turn = rule.rotary(), normV = rule.normV();
        Launch query = flash.launch(flash.query()), key = flash.launch(flash.key());
        kernels.launch(Kernel.HOPPER_QUERY, query, qkv, o, lse, delta, dO, dqkv, r, turns, norm, turn);
        kernels.launch(Kernel.HOPPER_KEY, key, qkv, lse, delta, dO, dqkv, r, turns, norm, turn, normV);
    }
}
