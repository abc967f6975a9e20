package hypertransfer.engine.reference;

/** RMS norms of rows: with a gain, with the residual stream, and post norms, which have none. */
final class Norms {
    private Norms() {}

    static void forward(Array x, Array gain, Array y, Array r) {
        for (int n = 0; n < x.rows(); n++) {
            double rn = Rows.rms(x.data(), x.row(n), x.cols());
            r.data()[r.row(n)] = rn;
            for (int c = 0; c < x.cols(); c++) {
                y.data()[y.row(n) + c] = x.data()[x.row(n) + c] * rn * (1 + gain.data()[gain.row(0) + c]);
            }
        }
    }

    static void backward(Array dy, Array x, Array gain, Array r, Array dx, Array dgain) {
        double[] xhat = new double[x.cols()];
        double[] dhat = new double[x.cols()];
        for (int n = 0; n < x.rows(); n++) {
            double rn = r.data()[r.row(n)];
            for (int c = 0; c < x.cols(); c++) {
                xhat[c] = x.data()[x.row(n) + c] * rn;
                dhat[c] = dy.data()[dy.row(n) + c] * (1 + gain.data()[gain.row(0) + c]);
                dgain.data()[dgain.row(0) + c] += dy.data()[dy.row(n) + c] * xhat[c];
            }
            Rows.throughNorm(dhat, 0, xhat, 0, rn, x.cols());
            System.arraycopy(dhat, 0, dx.data(), dx.row(n), x.cols());
        }
    }

    static void residual(Array h, Array z, Array zr, Array out, Array gain, Array y, Array r) {
        for (int n = 0; n < h.rows(); n++) {
            double post = post(z, n, zr);
            for (int c = 0; c < h.cols(); c++) {
                out.data()[out.row(n) + c] = h.data()[h.row(n) + c] + z.data()[z.row(n) + c] * post;
            }
        }
        forward(out, gain, y, r);
    }

    static void residualBackward(
            Array dy, Array z, Array zr, Array out, Array gain, Array r, Array dh, Array dz, Array dgain) {
        Array through = new Array("through", out.rows(), out.cols()).allocate();
        backward(dy, out, gain, r, through, dgain);
        for (int i = 0; i < out.size(); i++) {
            dh.data()[dh.row(0) + i] += through.data()[i];
        }
        if (zr != null) {
            for (int n = 0; n < z.rows(); n++) {
                System.arraycopy(dh.data(), dh.row(n), dz.data(), dz.row(n), z.cols());
                throughPost(dz, z, zr.data()[zr.row(n)], n);
            }
        }
    }

    /** The factor of row n's post norm, stored in r; 1 where there is no norm. */
    static double post(Array x, int n, Array r) {
        return r == null ? 1 : (r.data()[r.row(n)] = Rows.rms(x.data(), x.row(n), x.cols()));
    }

    /** In place, from the gradient at what row n's post norm made of x to the one at x. */
    static void throughPost(Array d, Array x, double r, int n) {
        double[] xhat = new double[x.cols()];
        Rows.add(r, x.data(), x.row(n), xhat, 0, xhat.length);
        Rows.throughNorm(d.data(), d.row(n), xhat, 0, r, xhat.length);
    }
}
