package hypertransfer.engine.door;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.engine.ranks.Ranks.Transport;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;

/**
 * The door in front of every engine: it holds all rules of {@link Engine} about shapes, lists, tokens, rows and order,
 * so that the engine behind it computes and checks nothing. A refusal names the operation, the argument, what was met
 * and what was expected.
 */
public final class Checked implements Engine {
    private final Engine engine;
    private final Dims dims;
    private final Rules rules = new Rules();
    private final Layers layers;
    private final Motion motion;

    public Checked(Engine engine) {
        this.engine = engine;
        dims = engine.dims();
        layers = CheckedLayers.of(engine, rules);
        motion = new CheckedMotion(engine, rules);
    }

    @Override
    public String name() {
        return engine.name();
    }

    @Override
    public Dims dims() {
        return dims;
    }

    @Override
    public boolean separateWeights() {
        return engine.separateWeights();
    }

    @Override
    public Format weights() {
        return engine.weights();
    }

    @Override
    public String provenance() {
        return engine.provenance();
    }

    @Override
    public Optional<String> remark() {
        return engine.remark();
    }

    @Override
    public void decisions(Path file) {
        rules.open("decisions");
        rules.present("file", file);
        engine.decisions(file);
    }

    @Override
    public void decide(Runnable work) {
        rules.outside("decide");
        rules.present("work", work);
        engine.decide(work);
    }

    // ------------------------------------------------------------------ memory

    @Override
    public void await() {
        rules.outside("await");
        engine.await();
    }

    @Override
    public Tensor tensor(Role role, String name, int rows, int cols) {
        rules.declaring("tensor");
        rules.present("role", role);
        rules.present("name", name);
        if (rows <= 0 || cols <= 0 || (long) rows * cols > Integer.MAX_VALUE) {
            throw rules.refusal("'" + name + "' has shape " + Rules.text(rows, cols)
                    + ", expected at least 1 row and 1 column and fewer than 2^31 numbers");
        }
        return rules.owned(engine.tensor(role, name, rows, cols), role == Role.EXACT_MASTER);
    }

    @Override
    public Tensor slice(Tensor whole, String name, int from, int rows) {
        rules.open("slice");
        rules.any("whole", whole);
        rules.present("name", name);
        if (from < 0 || rows <= 0 || rows > whole.rows() - from) {
            throw rules.refusal("'" + name + "' takes " + rows + " rows from row " + from + " on, expected rows of '"
                    + whole.name() + "', which has " + whole.rows());
        }
        return rules.owned(engine.slice(whole, name, from, rows), rules.exact(whole));
    }

    @Override
    public Memory commit() {
        rules.declaring("commit");
        Memory memory = engine.commit();
        rules.committed();
        return memory;
    }

    @Override
    public void write(Tensor tensor, double[] values) {
        rules.outside("write");
        rules.any("tensor", tensor);
        rules.present("values", values);
        if (values.length != tensor.size()) {
            throw rules.refusal(values.length + " values for '" + tensor.name() + "' of shape "
                    + Rules.text(tensor.rows(), tensor.cols()) + ", expected " + tensor.size());
        }
        engine.write(tensor, values);
    }

    @Override
    public double[] read(Tensor tensor) {
        rules.outside("read");
        rules.any("tensor", tensor);
        return engine.read(tensor);
    }

    @Override
    public double sum(Tensor tensor) {
        rules.outside("sum");
        rules.mine("tensor", tensor);
        return engine.sum(tensor);
    }

    @Override
    public Ranks transport(Ranks ranks, Transport choice) {
        return engine.transport(ranks, choice);
    }

    @Override
    public void pack(List<Tensor> tensors, MemorySegment to) {
        rules.outside("pack");
        rules.room("to", tensors, to);
        engine.pack(tensors, to);
    }

    @Override
    public void unpack(MemorySegment from, List<Tensor> tensors) {
        rules.outside("unpack");
        rules.room("from", tensors, from);
        engine.unpack(from, tensors);
    }

    @Override
    public void store(Tensor tensor, MemorySegment to) {
        rules.outside("store");
        rules.room("to", tensor, to);
        engine.store(tensor, to);
    }

    @Override
    public void load(MemorySegment from, Tensor tensor) {
        rules.outside("load");
        rules.room("from", tensor, from);
        engine.load(from, tensor);
    }

    @Override
    public void zero(List<Tensor> tensors) {
        rules.ready("zero");
        rules.list("tensors", tensors);
        engine.zero(tensors);
    }

    @Override
    public void close() {
        if (rules.closes()) {
            engine.close();
        }
    }

    // ----------------------------------------------------------------- network

    @Override
    public void feed(int[] inputs, int[] targets) {
        rules.outside("feed");
        rules.tokens(dims, "inputs", inputs);
        rules.tokens(dims, "targets", targets);
        engine.feed(inputs, targets);
        rules.nowFed();
    }

    @Override
    public void replay(String name, Runnable operations) {
        rules.outside("replay");
        rules.present("name", name);
        rules.present("operations", operations);
        rules.replaying(name);
        try {
            engine.replay(name, operations);
        } finally {
            rules.replaying(null);
        }
    }

    @Override
    public void until(BooleanSupplier stop, Runnable work) {
        rules.outside("until");
        rules.present("stop", stop);
        rules.present("work", work);
        engine.until(stop, work);
    }

    @Override
    public Layers layers() {
        return layers;
    }

    @Override
    public Motion motion() {
        return motion;
    }
}
