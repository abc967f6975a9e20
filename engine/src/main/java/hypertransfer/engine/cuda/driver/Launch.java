package hypertransfer.engine.cuda.driver;

import hypertransfer.engine.EngineException;

/**
 * How a kernel is launched.
 *
 * @param x blocks; y and z are their other two dimensions
 * @param threads of a block, in its first dimension
 * @param rows threads of a block, in its second dimension
 * @param shared bytes of shared memory
 */
public record Launch(int x, int y, int z, int threads, int rows, int shared) {
    public Launch {
        if (x < 1 || y < 1 || y > 65535 || z < 1 || z > 65535 || threads < 1 || rows < 1 || threads * rows > 1024) {
            throw new EngineException("a launch of " + x + " x " + y + " x " + z + " blocks of " + threads + " x "
                    + rows + " threads is beyond CUDA's limits; lower the batch");
        }
    }

    public static Launch of(long blocks, int threads) {
        return new Launch(Math.toIntExact(blocks), 1, 1, threads, 1, 0);
    }

    /** One thread per item. */
    public static Launch each(long items, int threads) {
        return of((items + threads - 1) / threads, threads);
    }
}
