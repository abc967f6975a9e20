package hypertransfer.bench;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.pytorch.engine.PtNDArray;
import ai.djl.pytorch.jni.JniUtils;
import hypertransfer.lab.experiment.Workload;
import hypertransfer.train.network.Architecture;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * The same step as {@link Workload}'s on libtorch: forward, backward, Muon on hidden matrices and AdamW on the rest.
 * Workers share the batch, then the parameters; with one, libtorch divides each operation among its own threads.
 */
final class TorchWorkload implements AutoCloseable {
    private static final float RATE = 1e-3f, DECAY = 0.1f;

    private final NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch");
    private final Map<String, NDArray> parameters;
    private final List<TorchNetwork> networks = new ArrayList<>();
    private final Map<String, NDArray> m = new LinkedHashMap<>();
    private final Map<String, NDArray> v = new LinkedHashMap<>();
    private final List<NDArray> tokens = new ArrayList<>();
    private final List<NDArray> targets = new ArrayList<>();
    private final NDArray linear = manager.create(-4.7750f), cubic = manager.create(2.0315f), identity;
    private final ExecutorService threads;
    private int t;

    TorchWorkload(Architecture a, int batch, int workers) {
        if (batch % workers != 0) {
            throw new IllegalArgumentException(workers + " threads do not share " + batch + " sequences evenly");
        }
        threads = Executors.newFixedThreadPool(workers);
        parameters = TorchNetwork.parameters(manager, a);
        parameters.forEach((name, w) -> {
            m.put(name, manager.zeros(w.getShape()));
            if (!hidden(name)) {
                v.put(name, manager.zeros(w.getShape()));
            }
        });
        identity = manager.eye(a.width()).mul(3.4445f);
        int share = batch / workers;
        for (int worker = 0; worker < workers; worker++) {
            networks.add(new TorchNetwork(manager, a, share, parameters));
            Shape shape = new Shape(share, a.sequence());
            tokens.add(manager.randomInteger(0, a.vocab(), shape, DataType.INT64));
            targets.add(manager.randomInteger(0, a.vocab(), shape, DataType.INT64));
        }
    }

    private static boolean hidden(String name) {
        return Character.isDigit(name.charAt(0)) && !name.endsWith("gain");
    }

    Workload.Times step() {
        long start = System.nanoTime();
        List<Runnable> shares = new ArrayList<>();
        for (int worker = 0; worker < networks.size(); worker++) {
            int self = worker;
            shares.add(() -> gradients(networks.get(self), tokens.get(self), targets.get(self)));
        }
        all(shares);
        long between = System.nanoTime();
        t++;
        all(parameters.keySet().stream()
                .map(name -> (Runnable) () -> update(name))
                .toList());
        return new Workload.Times((between - start) / 1e6, (System.nanoTime() - between) / 1e6);
    }

    private void all(List<Runnable> tasks) {
        try {
            List<Future<?>> futures = new ArrayList<>();
            for (Runnable task : tasks) {
                futures.add(threads.submit(task));
            }
            for (Future<?> future : futures) {
                future.get();
            }
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** By JniUtils, because DJL's collector is one for all threads. */
    private void gradients(TorchNetwork network, NDArray tokens, NDArray targets) {
        JniUtils.setGradMode(true);
        try (NDManager scope = manager.newSubManager()) {
            tokens.attach(scope);
            targets.attach(scope);
            NDArray loss = network.loss(tokens, targets);
            JniUtils.backward((PtNDArray) loss, (PtNDArray) scope.ones(new Shape()), false, false);
            loss.getFloat();
            tokens.attach(manager);
            targets.attach(manager);
        }
    }

    /** All arrays join the scope for a while, or what is computed from them would never be freed. */
    private void update(String name) {
        JniUtils.setGradMode(false);
        List<NDArray> gradients =
                networks.stream().map(network -> network.gradient(name)).toList();
        NDArray w = parameters.get(name), mean = m.get(name), square = v.get(name);
        try (NDManager scope = manager.newSubManager()) {
            gradients.forEach(g -> g.attach(scope));
            List.of(w, mean).forEach(x -> x.attach(scope));
            NDArray g = gradients.getFirst();
            gradients.stream().skip(1).forEach(g::addi);
            if (square == null) {
                muon(name, w, g, mean);
            } else {
                square.attach(scope);
                adam(w, g, mean, square);
                square.attach(manager);
            }
            gradients.forEach(gradient -> gradient.subi(gradient));
            List.of(w, mean).forEach(x -> x.attach(manager));
        }
    }

    private void muon(String name, NDArray w, NDArray g, NDArray mean) {
        mean.muli(0.95f).addi(g.muli(0.05f / networks.size()));
        if (!name.endsWith("qkv")) {
            move(w, orthogonal(mean));
            return;
        }
        long C = w.getShape().get(1);
        NDArray three = orthogonal(mean.reshape(3, C, C));
        for (int part = 0; part < 3; part++) {
            move(w.get(part * C + ":" + (part + 1) * C), three.get(part));
        }
    }

    /** Readings and the move: what our step measures is measured here too. */
    private static void move(NDArray w, NDArray u) {
        w.norm().getFloat();
        u.norm().getFloat();
        w.muli(1 - RATE * DECAY).subi(u.mul(RATE));
    }

    private NDArray orthogonal(NDArray x) {
        Shape shape = x.getShape();
        int last = shape.dimension() - 1;
        boolean tall = shape.get(last - 1) > shape.get(last);
        NDArray X = tall ? x.swapAxes(last - 1, last) : x;
        X = X.div(X.norm(new int[] {last - 1, last}, true));
        for (int step = 0; step < 5; step++) {
            NDArray A = X.matMul(X.swapAxes(last - 1, last));
            NDArray P = A.matMul(A).muli(cubic).addi(A.muli(linear)).addi(identity);
            X = P.matMul(X);
        }
        return tall ? X.swapAxes(last - 1, last) : X;
    }

    private void adam(NDArray w, NDArray g, NDArray mean, NDArray square) {
        g.muli(1f / networks.size());
        mean.muli(0.9f).addi(g.mul(0.1f));
        square.muli(0.95f).addi(g.muli(g).muli(0.05f));
        float c1 = (float) (1 - Math.pow(0.9, t)), c2 = (float) (1 - Math.pow(0.95, t));
        NDArray root = square.div(c2).sqrt().addi(1e-10f);
        w.muli(1 - RATE * DECAY).subi(mean.div(root).muli(RATE / c1));
    }

    @Override
    public void close() {
        threads.shutdown();
        manager.close();
    }
}
