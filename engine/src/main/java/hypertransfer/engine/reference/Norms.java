package hypertransfer.engine.reference;

import hypertransfer.engine.Layers.Norm;
import java.util.Arrays;

/** Norms of rows: with a gain, with the residual stream, and post norms, which have none. */
final class Norms {
    private Norms() {}

    static void forward(Array x, Norm norm, Array y) {
        Array gain = (Array) norm.gain(), r = (Array) norm.r();
        for (int n = 0; n < x.rows(); n++) {
            double[] row = row(x, n, norm.center());
            double rn = Rows.rms(row, 0, row.length);
            r.data()[r.row(n)] = rn;
            for (int c = 0; c < x.cols(); c++) {
                y.data()[y.row(n) + c] = row[c] * rn * (1 + gain.data()[gain.row(0) + c]);
            }
        }
    }

    static void backward(Array dy, Array x, Norm norm, Array dx) {
        Array gain = (Array) norm.gain(), dgain = (Array) norm.dgain(), r = (Array) norm.r();
        double[] dhat = new double[x.cols()];
        for (int n = 0; n < x.rows(); n++) {
            double rn = r.data()[r.row(n)];
            double[] xhat = row(x, n, norm.center());
            for (int c = 0; c < x.cols(); c++) {
                xhat[c] *= rn;
                dhat[c] = dy.data()[dy.row(n) + c] * (1 + gain.data()[gain.row(0) + c]);
                dgain.data()[dgain.row(0) + c] += dy.data()[dy.row(n) + c] * xhat[c];
            }
            Rows.throughNorm(dhat, 0, xhat, 0, rn, x.cols());
            if (norm.center()) { // which is a symmetric projection
                center(dhat);
            }
            System.arraycopy(dhat, 0, dx.data(), dx.row(n), x.cols());
        }
    }

    private static double[] row(Array x, int n, boolean center) {
        double[] row = Arrays.copyOfRange(x.data(), x.row(n), x.row(n + 1));
        if (center) {
            center(row);
        }
        return row;
    }

    private static void center(double[] row) {
        double mean = Arrays.stream(row).sum() / row.length;
        for (int c = 0; c < row.length; c++) {
            row[c] -= mean;
        }
    }

    static void residual(Array h, Array z, Array zr, Array out, Norm norm, Array y) {
        for (int n = 0; n < h.rows(); n++) {
            double post = zr == null ? 1 : (zr.data()[zr.row(n)] = Rows.rms(z.data(), z.row(n), z.cols()));
            for (int c = 0; c < h.cols(); c++) {
                out.data()[out.row(n) + c] = h.data()[h.row(n) + c] + z.data()[z.row(n) + c] * post;
            }
        }
        forward(out, norm, y);
    }

    static void residualBackward(Array dy, Array z, Array zr, Array out, Norm norm, Array dh, Array dz) {
        Array through = new Array("through", out.rows(), out.cols(), null).allocate();
        backward(dy, out, norm, through);
        for (int i = 0; i < out.size(); i++) {
            dh.data()[dh.row(0) + i] += through.data()[i];
        }
        if (zr != null) {
            for (int n = 0; n < z.rows(); n++) {
                System.arraycopy(dh.data(), dh.row(n), dz.data(), dz.row(n), z.cols());
                double post = zr.data()[zr.row(n)];
                double[] zhat = row(z, n, false);
                for (int c = 0; c < zhat.length; c++) {
                    zhat[c] *= post;
                }
                Rows.throughNorm(dz.data(), dz.row(n), zhat, 0, post, zhat.length);
            }
        }
    }
}
