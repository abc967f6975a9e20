package hypertransfer.bench;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.ndarray.types.SparseFormat;
import ai.djl.nn.Activation;
import ai.djl.nn.core.Embedding;
import ai.djl.nn.core.Linear;
import ai.djl.training.loss.Loss;
import hypertransfer.train.network.Architecture;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The same networks on libtorch, as a Java user with DJL writes them when speed matters: q, k and v in one product,
 * attention as batched products over all heads, rotary tables and mask made once, the constants kept as arrays.
 */
final class TorchNetwork {
    private final Architecture a;
    private final int B;
    private final Map<String, NDArray> parameters = new LinkedHashMap<>();
    private final NDArray cos, sin, mask, epsilon, scale; // (T,1,D/2), (T,1,D/2), (T,T)
    private final Loss loss = Loss.softmaxCrossEntropyLoss();

    TorchNetwork(NDManager manager, Architecture a, int batch) {
        this.a = a;
        this.B = batch;
        int C = a.width(), T = a.sequence(), half = a.head() / 2;
        matrix(manager, "embed", a.vocab(), C, 0.006f);
        gain(manager, "embed.gain");
        for (int l = 0; l < a.layers(); l++) {
            gain(manager, l + ".attn.gain");
            matrix(manager, l + ".qkv", 3 * C, C, (float) (1 / Math.sqrt(C)));
            matrix(manager, l + ".o", C, C, (float) (1 / Math.sqrt(C)));
            gain(manager, l + ".mlp.gain");
            matrix(manager, l + ".fc", 4 * C, C, (float) (1 / Math.sqrt(C)));
            matrix(manager, l + ".proj", C, 4 * C, (float) (1 / Math.sqrt(4 * C)));
        }
        gain(manager, "head.gain");
        matrix(manager, "head", a.vocab(), C, 0.006f);
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
        cos = manager.create(c, new Shape(T, 1, half));
        sin = manager.create(s, new Shape(T, 1, half));
        mask = manager.create(m, new Shape(T, T));
        epsilon = manager.create(1e-10f);
        scale = manager.create((float) (1 / Math.sqrt(a.head())));
    }

    private void matrix(NDManager manager, String name, int rows, int cols, float std) {
        NDArray w = manager.randomNormal(0, std, new Shape(rows, cols), DataType.FLOAT32);
        w.setRequiresGradient(true);
        parameters.put(name, w);
    }

    private void gain(NDManager manager, String name) {
        NDArray w = manager.zeros(new Shape(a.width()));
        w.setRequiresGradient(true);
        parameters.put(name, w);
    }

    Map<String, NDArray> parameters() {
        return parameters;
    }

    /** The mean loss; tokens and targets are (B, T). */
    NDArray loss(NDArray tokens, NDArray targets) {
        int C = a.width(), T = a.sequence(), D = a.head(), H = C / D;
        boolean post = a.variant().post();
        NDArray h = normed(one(Embedding.embedding(tokens, parameters.get("embed"), SparseFormat.DENSE)), "embed.gain");
        for (int l = 0; l < a.layers(); l++) {
            NDArray qkv = linear(normed(h, l + ".attn.gain"), l + ".qkv").reshape(B, T, 3, H, D);
            List<NDArray> heads = new ArrayList<>();
            for (int part = 0; part < 3; part++) {
                NDArray x = qkv.get(new NDIndex(":,:," + part));
                x = part < 2 || post ? norm(x) : x;
                heads.add((part < 2 ? rotary(x) : x).transpose(0, 2, 1, 3));
            }
            NDArray scores = heads.get(0).mul(scale).matMul(heads.get(1).transpose(0, 1, 3, 2));
            NDArray o = scores.add(mask).softmax(-1).matMul(heads.get(2));
            NDArray z = linear(o.transpose(0, 2, 1, 3).reshape(B, T, C), l + ".o");
            h = h.add(post ? norm(z) : z);
            NDArray f = linear(normed(h, l + ".mlp.gain"), l + ".fc");
            NDArray y = linear(Activation.relu(post ? norm(f) : f).square(), l + ".proj");
            h = h.add(post ? norm(y) : y);
        }
        NDArray logits = linear(normed(h, "head.gain"), "head").reshape(-1, a.vocab());
        return loss.evaluate(new NDList(targets.reshape(-1, 1)), new NDList(logits));
    }

    private NDArray linear(NDArray x, String name) {
        return one(Linear.linear(x, parameters.get(name)));
    }

    private NDArray normed(NDArray x, String gain) {
        return norm(x).mul(parameters.get(gain).add(1));
    }

    private NDArray norm(NDArray x) {
        return x.div(x.square().mean(new int[] {-1}, true).add(epsilon).sqrt());
    }

    private NDArray rotary(NDArray x) {
        int half = a.head() / 2;
        NDArray x1 = x.get("..., :" + half), x2 = x.get("..., " + half + ":");
        return NDArrays.concat(
                new NDList(x1.mul(cos).add(x2.mul(sin)), x2.mul(cos).sub(x1.mul(sin))), -1);
    }

    private static NDArray one(NDList list) {
        return list.singletonOrThrow();
    }
}
