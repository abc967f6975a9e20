package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;

/** The launches of attention on the tensor cores; the numbers are those of {@code flash.cu}. */
record Flash(Dims dims, int stages, int back) {
    private static final int QUERIES = 128, STEP = 64, BF16 = 2;

    int forwardBytes() {
        return QUERIES * row() + 2 * stages * STEP * row();
    }

    int keyBytes() {
        return 2 * back * row() + 2 * stages * STEP * row() + stages * 2 * STEP * Float.BYTES;
    }

    int queryBytes() {
        return 2 * back * row() + 2 * stages * STEP * row() + 2 * back * Float.BYTES;
    }

    Launch forward() {
        return launch(QUERIES, 128, forwardBytes());
    }

    Launch key() {
        return launch(back, 2 * back, keyBytes());
    }

    Launch query() {
        return launch(back, 2 * back, queryBytes());
    }

    private Launch launch(int tile, int threads, int shared) {
        return new Launch((dims.T() + tile - 1) / tile, dims.H(), dims.B(), threads, 1, shared);
    }

    private int row() {
        return dims.D() * BF16;
    }
}
