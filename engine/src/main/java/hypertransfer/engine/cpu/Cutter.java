package hypertransfer.engine.cpu;

import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.memory.Floats;
import hypertransfer.engine.cpu.thread.Pool;
import hypertransfer.engine.cpu.thread.Task;
import hypertransfer.engine.cpu.vector.Lanes;
import java.util.List;

/** Copies between a matrix and its blocks, one block per piece. */
final class Cutter implements Task {
    private final Pool pool;
    private Floats whole;
    private List<Tensor> blocks;
    private boolean back;

    Cutter(Pool pool) {
        this.pool = pool;
    }

    void run(Tensor whole, List<Tensor> blocks, boolean back) {
        this.whole = (Floats) whole;
        this.blocks = blocks;
        this.back = back;
        pool.run(this, blocks.size());
    }

    @Override
    public void piece(int piece, int worker) {
        Floats block = (Floats) blocks.get(piece);
        int across = whole.cols() / block.cols();
        long line = (long) whole.cols() * whole.numberBytes(), bytes = (long) block.cols() * block.numberBytes();
        long inside = whole.at() + piece / across * block.rows() * line + piece % across * bytes, own = block.at();
        for (int row = 0; row < block.rows(); row++, inside += line, own += bytes) {
            Lanes.copy(back ? own : inside, back ? inside : own, bytes);
        }
    }
}
