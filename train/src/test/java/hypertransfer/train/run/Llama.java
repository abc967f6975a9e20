package hypertransfer.train.run;

import java.util.Arrays;
import java.util.Map;

/**
 * The forward pass of Llama as other programs have it, with their names and forms, one token after the other: what
 * an imported file must give.
 */
record Llama(Map<String, double[]> w, int width, int head, int kvHeads, int layers) {
    private static final double EPSILON = 1e-10;

    /** The logits after the last token. */
    double[] logits(int[] tokens) {
        double[][] h = new double[tokens.length][];
        for (int t = 0; t < tokens.length; t++) {
            h[t] = row(w.get("model.embed_tokens.weight"), tokens[t], width);
        }
        for (int l = 0; l < layers; l++) {
            String at = "model.layers." + l + ".";
            double[][] o = attention(at + "self_attn.", h, w.get(at + "input_layernorm.weight"));
            for (int t = 0; t < h.length; t++) {
                add(h[t], times(w.get(at + "self_attn.o_proj.weight"), o[t]));
                double[] m = norm(h[t], w.get(at + "post_attention_layernorm.weight"));
                double[] gate = times(w.get(at + "mlp.gate_proj.weight"), m);
                double[] up = times(w.get(at + "mlp.up_proj.weight"), m);
                for (int i = 0; i < up.length; i++) {
                    up[i] *= gate[i] / (1 + Math.exp(-gate[i]));
                }
                add(h[t], times(w.get(at + "mlp.down_proj.weight"), up));
            }
        }
        double[] last = norm(h[h.length - 1], w.get("model.norm.weight"));
        return times(w.getOrDefault("lm_head.weight", w.get("model.embed_tokens.weight")), last);
    }

    private double[][] attention(String at, double[][] h, double[] factor) {
        double[][] q = new double[h.length][], k = new double[h.length][], v = new double[h.length][];
        double[][] o = new double[h.length][];
        for (int t = 0; t < h.length; t++) {
            double[] a = norm(h[t], factor);
            q[t] = turned(times(w.get(at + "q_proj.weight"), a), t);
            k[t] = turned(times(w.get(at + "k_proj.weight"), a), t);
            v[t] = times(w.get(at + "v_proj.weight"), a);
            o[t] = attention(q[t], k, v, t, head, width / head / kvHeads);
        }
        return o;
    }

    /** What one query sees of the keys and values up to its own; so many heads of it share one of theirs. */
    static double[] attention(double[] q, double[][] k, double[][] v, int t, int head, int sharing) {
        double[] o = new double[q.length];
        for (int at = 0; at < q.length; at += head) {
            int shared = at / head / sharing * head;
            double sum = 0;
            for (int j = 0; j <= t; j++) {
                double score = 0;
                for (int i = 0; i < head; i++) {
                    score += q[at + i] * k[j][shared + i] / Math.sqrt(head);
                }
                double p = Math.exp(score);
                sum += p;
                for (int i = 0; i < head; i++) {
                    o[at + i] += p * v[j][shared + i];
                }
            }
            for (int i = 0; i < head; i++) {
                o[at + i] /= sum;
            }
        }
        return o;
    }

    /** x cos + rotate_half(x) sin, with rotate_half(x) = (-x2, x1). */
    private double[] turned(double[] x, int position) {
        double[] y = new double[x.length];
        int half = head / 2;
        for (int at = 0; at < x.length; at += head) {
            for (int i = 0; i < half; i++) {
                double angle = position / Math.pow(10000, 2.0 * i / head);
                double x1 = x[at + i], x2 = x[at + half + i];
                y[at + i] = x1 * Math.cos(angle) - x2 * Math.sin(angle);
                y[at + half + i] = x2 * Math.cos(angle) + x1 * Math.sin(angle);
            }
        }
        return y;
    }

    private static double[] norm(double[] x, double[] factor) {
        double squares = 0;
        for (double v : x) {
            squares += v * v / x.length;
        }
        double[] y = new double[x.length];
        for (int i = 0; i < x.length; i++) {
            y[i] = x[i] / Math.sqrt(squares + EPSILON) * factor[i];
        }
        return y;
    }

    /** A matrix (out,in) times a vector. */
    static double[] times(double[] matrix, double[] x) {
        double[] y = new double[matrix.length / x.length];
        for (int i = 0; i < matrix.length; i++) {
            y[i / x.length] += matrix[i] * x[i % x.length];
        }
        return y;
    }

    static double[] row(double[] matrix, int row, int cols) {
        return Arrays.copyOfRange(matrix, row * cols, (row + 1) * cols);
    }

    static void add(double[] to, double[] what) {
        for (int i = 0; i < to.length; i++) {
            to[i] += what[i];
        }
    }
}
