package hypertransfer.train.run;

import java.util.Arrays;
import java.util.Map;

/**
 * The forward pass of GPT-2 as other programs have it, biases and learned positions included, with their names and forms: what
 * an imported file must give.
 */
record Gpt2(Map<String, double[]> w, int width, int head, int layers) {
    private static final double EPSILON = 1e-10;

    /** The logits after the last token. */
    double[] logits(int[] tokens) {
        double[][] h = new double[tokens.length][];
        for (int t = 0; t < tokens.length; t++) {
            h[t] = Llama.row(w.get("transformer.wte.weight"), tokens[t], width);
            Llama.add(h[t], Llama.row(w.get("transformer.wpe.weight"), t, width));
        }
        for (int l = 0; l < layers; l++) {
            String at = "transformer.h." + l + ".";
            double[][] q = new double[h.length][], k = new double[h.length][], v = new double[h.length][];
            for (int t = 0; t < h.length; t++) {
                double[] qkv = linear(at + "attn.c_attn", norm(at + "ln_1", h[t]));
                q[t] = Llama.row(qkv, 0, width);
                k[t] = Llama.row(qkv, 1, width);
                v[t] = Llama.row(qkv, 2, width);
            }
            for (int t = 0; t < h.length; t++) {
                Llama.add(h[t], linear(at + "attn.c_proj", Llama.attention(q[t], k, v, t, head, 1)));
                double[] f = linear(at + "mlp.c_fc", norm(at + "ln_2", h[t]));
                for (int i = 0; i < f.length; i++) {
                    double cubic = Math.sqrt(2 / Math.PI) * (f[i] + 0.044715 * Math.pow(f[i], 3));
                    f[i] = 0.5 * f[i] * (1 + Math.tanh(cubic));
                }
                Llama.add(h[t], linear(at + "mlp.c_proj", f));
            }
        }
        return Llama.times(w.get("transformer.wte.weight"), norm("transformer.ln_f", h[h.length - 1]));
    }

    /** A matrix (in,out), whose vector stands on the left. */
    private double[] linear(String name, double[] x) {
        double[] matrix = w.get(name + ".weight"), y = w.get(name + ".bias").clone();
        for (int i = 0; i < matrix.length; i++) {
            y[i % y.length] += x[i / y.length] * matrix[i];
        }
        return y;
    }

    private double[] norm(String name, double[] x) {
        double mean = Arrays.stream(x).average().orElseThrow();
        double variance =
                Arrays.stream(x).map(v -> (v - mean) * (v - mean)).average().orElseThrow();
        double[] factor = w.get(name + ".weight"), y = w.get(name + ".bias").clone();
        for (int i = 0; i < x.length; i++) {
            y[i] += (x[i] - mean) / Math.sqrt(variance + EPSILON) * factor[i];
        }
        return y;
    }
}
