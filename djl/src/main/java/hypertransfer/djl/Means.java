package hypertransfer.djl;

import ai.djl.ndarray.NDArray;

/**
 * The means of gradients that directions are made of.
 *
 * @param value the mean, or what is ahead of it
 * @param own whether the value is an array of its own, which is closed with this
 */
record Means(NDArray value, boolean own) implements AutoCloseable {
    /** {@code m <- beta m + (1 - beta) g}, from the first gradient; with nesterov {@code beta m + (1 - beta) g} of that. */
    static Means momentum(NDArray gradient, NDArray m, double beta, boolean nesterov, long step) {
        if (step == 0) {
            m.addi(gradient); // to zero; copyTo would go through the heap, and not above 2 GiB
        } else {
            mix(m, beta, gradient);
        }
        if (!nesterov || step == 0) { // the first mean is the gradient itself
            return new Means(m, false);
        }
        NDArray ahead = m.duplicate();
        mix(ahead, beta, gradient);
        return new Means(ahead, true);
    }

    static void mix(NDArray mean, double beta, NDArray value) {
        try (NDArray part = value.mul(1 - beta)) {
            mean.muli(beta).addi(part);
        }
    }

    @Override
    public void close() {
        if (own) {
            value.close();
        }
    }
}
