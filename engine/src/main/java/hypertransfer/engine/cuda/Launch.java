package hypertransfer.engine.cuda;

import hypertransfer.engine.EngineException;

/** How many blocks of how many threads: blocks x by y by z, threads wide and rows high, and shared memory in bytes. */
record Launch(int x, int y, int z, int threads, int rows, int shared) {
    Launch {
        if (x < 1 || y < 1 || y > 65535 || z < 1 || z > 65535 || threads < 1 || rows < 1 || threads * rows > 1024) {
            throw new EngineException("a launch of " + x + " x " + y + " x " + z + " blocks of " + threads + " x "
                    + rows + " threads is beyond CUDA's limits; lower the batch");
        }
    }

    static Launch of(long blocks, int threads) {
        return new Launch(Math.toIntExact(blocks), 1, 1, threads, 1, 0);
    }

    /** A thread for each of so many items. */
    static Launch each(long items, int threads) {
        return of((items + threads - 1) / threads, threads);
    }
}
