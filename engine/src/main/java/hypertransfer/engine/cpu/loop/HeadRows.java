package hypertransfer.engine.cpu.loop;

import hypertransfer.engine.Dims;
import hypertransfer.engine.HeadRule;
import hypertransfer.engine.cpu.vector.Lanes;

/**
 * The norm of each head and the rotary embedding, of the rows from one token on, by loops.
 *
 * @param cos (T, D/2), as is sin
 */
public record HeadRows(Dims dims, float[] cos, float[] sin) {
    public void forward(int first, int rows, long qkv, long r, HeadRule rule) {
        int D = dims.D(), Q = dims.Q(), turned = dims.H() + dims.G(), heads = rule.normV() ? Q : turned;
        float[] x = Rows.read(qkv, rows * Q * D), factors = Rows.read(r, rows * Q);
        for (int n = 0; n < rows; n++) {
            for (int head = 0; head < heads; head++) {
                int at = (n * Q + head) * D;
                boolean normed = head >= turned || rule.normQK();
                float factor = normed ? Lanes.rms(Rows.dot(x, x, at, D), D) : 1;
                if (normed) {
                    factors[n * Q + head] = factor;
                }
                if (head < turned && rule.rotary()) {
                    rotate(x, at, (first + n) % dims.T() * (D / 2), factor, factor);
                } else if (normed) {
                    Rows.scale(factor, x, at, D);
                }
            }
        }
        Rows.write(x, qkv);
        Rows.write(factors, r);
    }

    public void backward(int first, int rows, long dqkv, long qkv, long r, HeadRule rule) {
        int D = dims.D(), Q = dims.Q(), turned = dims.H() + dims.G(), heads = rule.normV() ? Q : turned;
        float[] d = Rows.read(dqkv, rows * Q * D), xhat = Rows.read(qkv, rows * Q * D);
        float[] factors = Rows.read(r, rows * Q);
        for (int n = 0; n < rows; n++) {
            for (int head = 0; head < heads; head++) {
                int at = (n * Q + head) * D;
                if (head >= turned || rule.normQK()) {
                    float factor = factors[n * Q + head], back = -factor * (Rows.dot(d, xhat, at, D) / D);
                    NormRows.through(d, xhat, at, D, factor, back, d);
                }
                if (head < turned && rule.rotary()) {
                    rotate(d, at, (first + n) % dims.T() * (D / 2), 1, -1);
                }
            }
        }
        Rows.write(d, dqkv);
    }

    /** (x1, x2) -> r (x1 cos + x2 sin, x2 cos - x1 sin) over the two halves; signed is r, or -r to turn back. */
    private void rotate(float[] x, int at, int angle, float r, float signed) {
        int half = dims.D() / 2;
        for (int i = at; i < at + half; i++, angle++) {
            float x1 = x[i], x2 = x[i + half], c = cos[angle] * r, s = sin[angle];
            x[i] = Math.fma(x1, c, x2 * (s * signed));
            x[i + half] = Math.fma(x2, c, x1 * (s * -signed));
        }
    }
}
