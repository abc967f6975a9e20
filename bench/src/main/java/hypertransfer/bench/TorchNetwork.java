package hypertransfer.bench;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Activation;
import ai.djl.nn.core.Embedding;
import ai.djl.nn.core.Linear;
import ai.djl.training.loss.Loss;
import hypertransfer.train.network.Architecture;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * The same networks on libtorch, as a Java user with DJL writes them when speed matters: q, k and v in one product,
 * attention as batched products over all heads, rotary tables and mask made once, the constants kept as arrays, parts
 * split and not sliced (whose gradients would each be written at full size).
 */
final class TorchNetwork {
    private final Architecture a;
    private final int B;
    private final Map<String, NDArray> parameters = new LinkedHashMap<>();
    private final NDArray cos, sin, mask, epsilon, scale, minusHalf, one; // (T,D/2), (T,D/2), (T,T)
    private final Loss loss = Loss.softmaxCrossEntropyLoss();

    /** Over parameters that other networks may read too; gradients are this network's own. */
    TorchNetwork(NDManager manager, Architecture a, int batch, Map<String, NDArray> shared) {
        this.a = a;
        this.B = batch;
        shared.forEach((name, w) -> {
            NDArray leaf = w.stopGradient();
            leaf.setRequiresGradient(true);
            parameters.put(name, leaf);
        });
        int T = a.sequence(), half = a.headWidth() / 2;
        float[] c = new float[T * half], s = new float[T * half], m = new float[T * T];
        for (int t = 0; t < T; t++) {
            for (int i = 0; i < half; i++) {
                double angle = t * Math.pow(10000, -(double) i / half);
                c[t * half + i] = (float) Math.cos(angle);
                s[t * half + i] = (float) Math.sin(angle);
            }
            for (int j = t + 1; j < T; j++) {
                m[t * T + j] = Float.NEGATIVE_INFINITY;
            }
        }
        cos = manager.create(c, new Shape(T, half));
        sin = manager.create(s, new Shape(T, half));
        mask = manager.create(m, new Shape(T, T));
        epsilon = manager.create(1e-10f);
        scale = manager.create((float) (1 / Math.sqrt(a.headWidth())));
        minusHalf = manager.create(-0.5f);
        one = manager.create(1f);
    }

    static Map<String, NDArray> parameters(NDManager manager, Architecture a) {
        int C = a.width();
        Map<String, NDArray> all = new LinkedHashMap<>();
        all.put("embed", matrix(manager, a.vocab(), C, 0.006f));
        all.put("head", matrix(manager, a.vocab(), C, 0.006f));
        for (int l = 0; l < a.layers(); l++) {
            all.put(l + ".qkv", matrix(manager, 3 * C, C, (float) (1 / Math.sqrt(C))));
            all.put(l + ".fc", matrix(manager, 4 * C, C, (float) (1 / Math.sqrt(C))));
            all.put(l + ".proj", matrix(manager, C, 4 * C, (float) (1 / Math.sqrt(4 * C))));
            all.put(l + ".o", matrix(manager, C, C, (float) (1 / Math.sqrt(C))));
            all.put(l + ".attn.gain", manager.zeros(new Shape(C)));
            all.put(l + ".mlp.gain", manager.zeros(new Shape(C)));
        }
        all.put("embed.gain", manager.zeros(new Shape(C)));
        all.put("head.gain", manager.zeros(new Shape(C)));
        return all;
    }

    private static NDArray matrix(NDManager manager, int rows, int cols, float std) {
        return manager.randomNormal(0, std, new Shape(rows, cols), DataType.FLOAT32);
    }

    NDArray gradient(String name) {
        return parameters.get(name).getGradient();
    }

    /** The mean loss; tokens and targets are (B, T). */
    NDArray loss(NDArray tokens, NDArray targets) {
        int C = a.width(), T = a.sequence(), D = a.headWidth(), H = C / D;
        boolean post = a.design().postNorm();
        NDArray h = normed(one(Embedding.embedding(tokens, parameters.get("embed"), SparseFormat.DENSE)), "embed.gain");
        for (int l = 0; l < a.layers(); l++) {
            // (B, 3H, T, D): queries and keys together, then values
            NDArray qkv = linear(normed(h, l + ".attn.gain"), l + ".qkv")
                    .reshape(B, T, 3 * H, D)
                    .transpose(0, 2, 1, 3);
            NDList parts = qkv.split(new long[] {2 * H}, 1);
            NDList qk = rotary(norm(parts.get(0))).split(new long[] {H}, 1);
            NDArray v = post ? norm(parts.get(1)) : parts.get(1);
            NDArray scores = qk.get(0).mul(scale).matMul(qk.get(1).transpose(0, 1, 3, 2));
            NDArray o = scores.add(mask).softmax(-1).matMul(v);
            NDArray z = linear(o.transpose(0, 2, 1, 3).reshape(B, T, C), l + ".o");
            h = h.add(post ? norm(z) : z);
            NDArray f = linear(normed(h, l + ".mlp.gain"), l + ".fc");
            NDArray r = Activation.relu(post ? norm(f) : f);
            NDArray y = linear(r.mul(r), l + ".proj");
            h = h.add(post ? norm(y) : y);
        }
        NDArray logits = linear(normed(h, "head.gain"), "head").reshape(-1, a.vocab());
        return loss.evaluate(new NDList(targets.reshape(-1, 1)), new NDList(logits));
    }

    private NDArray linear(NDArray x, String name) {
        return one(Linear.linear(x, parameters.get(name)));
    }

    private NDArray normed(NDArray x, String gain) {
        NDArray factors = parameters.get(gain).add(one);
        factors.attach(x.getManager()); // or it would stay for ever with the parameters
        return norm(x).mul(factors);
    }

    private NDArray norm(NDArray x) {
        return x.mul(x.mul(x).mean(new int[] {-1}, true).add(epsilon).pow(minusHalf));
    }

    private NDArray rotary(NDArray x) {
        NDList halves = x.split(2, 3);
        NDArray x1 = halves.get(0), x2 = halves.get(1);
        return NDArrays.concat(
                new NDList(x1.mul(cos).add(x2.mul(sin)), x2.mul(cos).sub(x1.mul(sin))), -1);
    }

    private static NDArray one(NDList list) {
        return list.singletonOrThrow();
    }
}
