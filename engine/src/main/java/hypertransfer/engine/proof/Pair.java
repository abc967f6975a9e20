package hypertransfer.engine.proof;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.door.Checked;
import hypertransfer.engine.reference.ReferenceEngine;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * An engine beside the reference: the same tensors, the same operations. Both start each operation with the same
 * numbers, as the engine's formats hold them, so that an error shows where it is made.
 */
final class Pair implements AutoCloseable {
    /** One engine and its tensors by name. */
    record Side(Engine engine, Map<String, Tensor> tensors) {
        Layers layers() {
            return engine.layers();
        }

        Motion motion() {
            return engine.motion();
        }

        Tensor t(String name) {
            Tensor tensor = tensors.get(name);
            if (tensor == null) {
                throw new IllegalArgumentException("no tensor is called '" + name + "'");
            }
            return tensor;
        }

        /** The one norm of the stream that there is here. */
        Norm norm(boolean center) {
            return new Norm(t("gain"), t("dgain"), t("r"), center);
        }

        List<Tensor> all(List<String> names) {
            return names.stream().map(this::t).toList();
        }
    }

    private final Side mine;
    private final Side oracle;
    private final Random random = new Random(1);
    private final List<Result> results = new ArrayList<>();
    private String operation;

    /** The engine must be fresh; it is closed with this. */
    Pair(Engine engine) {
        this(engine, Checked.of(new ReferenceEngine(engine.dims(), engine.weights())));
    }

    /** Beside another engine than the reference. */
    Pair(Engine engine, Engine other) {
        mine = new Side(engine, new LinkedHashMap<>());
        oracle = new Side(other, new LinkedHashMap<>());
    }

    Dims dims() {
        return mine.engine.dims();
    }

    Pair tensor(Role role, String name, int rows, int cols) {
        both(s -> s.tensors.put(name, s.engine.tensor(role, name, rows, cols)));
        return this;
    }

    Pair slice(String whole, String name, int from, int rows) {
        both(s -> s.tensors.put(name, s.engine.slice(s.t(whole), name, from, rows)));
        return this;
    }

    /** Fills all tensors with random numbers. */
    Pair commit() {
        both(s -> s.engine.commit());
        mine.tensors.keySet().forEach(name -> fill(name, 1));
        return this;
    }

    Pair fill(String name, double spread) {
        double[] values = new double[Math.toIntExact(mine.t(name).size())];
        Arrays.setAll(values, i -> spread * (2 * random.nextDouble() - 1));
        return set(name, values);
    }

    /** The reference gets what the engine's format makes of the values. */
    Pair set(String name, double... values) {
        mine.engine.write(mine.t(name), values);
        align(name);
        return this;
    }

    private void align(String name) {
        oracle.engine.write(oracle.t(name), read(name));
    }

    int rows(String name) {
        return mine.t(name).rows();
    }

    double[] read(String name) {
        return mine.engine.read(mine.t(name));
    }

    /** The tokens of a micro-batch, many of them the same. */
    Pair feed() {
        int N = dims().N(), V = dims().V();
        int[] inputs = random.ints(N, 0, V).map(v -> v % 3 == 0 ? 0 : v).toArray();
        int[] targets = random.ints(N, 0, V).toArray();
        return run("feed", s -> s.engine.feed(inputs, targets));
    }

    Pair run(String name, Consumer<Side> call) {
        operation = name;
        both(call);
        return this;
    }

    private void both(Consumer<Side> call) {
        call.accept(mine);
        call.accept(oracle);
    }

    /** Compares what the last operation wrote into these tensors by sums of so many terms. */
    Pair same(double terms, String... names) {
        return same(terms, List.of(names));
    }

    Pair same(double terms, List<String> names) {
        for (String name : names) {
            results.add(Result.of(operation, name, terms, read(name), oracle.engine.read(oracle.t(name))));
            align(name);
        }
        return this;
    }

    /** The same for an operation that returns numbers. */
    Pair numbers(String name, double terms, Function<Side, double[]> call) {
        results.add(Result.of(name, "", terms, call.apply(mine), call.apply(oracle)));
        return this;
    }

    List<Result> results() {
        return List.copyOf(results);
    }

    @Override
    public void close() {
        both(s -> s.engine.close());
    }
}
