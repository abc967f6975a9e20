package hypertransfer.bench;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import ai.djl.training.GradientCollector;
import hypertransfer.lab.Workload;
import hypertransfer.train.network.Architecture;
import java.util.LinkedHashMap;
import java.util.Map;

/** The same step as {@link Workload}'s on libtorch: forward, backward, Muon on hidden matrices and AdamW on the rest. */
final class TorchWorkload implements AutoCloseable {
    private static final float RATE = 1e-3f, DECAY = 0.1f;

    private final NDManager manager = NDManager.newBaseManager(Device.cpu(), "PyTorch");
    private final TorchNetwork network;
    private final Map<String, NDArray> m = new LinkedHashMap<>();
    private final Map<String, NDArray> v = new LinkedHashMap<>();
    private final NDArray tokens;
    private final NDArray targets;
    private int t;

    TorchWorkload(Architecture a, int batch) {
        network = new TorchNetwork(manager, a, batch);
        network.parameters().forEach((name, w) -> {
            m.put(name, manager.zeros(w.getShape()));
            if (!hidden(name)) {
                v.put(name, manager.zeros(w.getShape()));
            }
        });
        Shape shape = new Shape(batch, a.sequence());
        tokens = manager.randomInteger(0, a.vocab(), shape, DataType.INT64);
        targets = manager.randomInteger(0, a.vocab(), shape, DataType.INT64);
    }

    private static boolean hidden(String name) {
        return Character.isDigit(name.charAt(0)) && !name.endsWith("gain");
    }

    Workload.Times step() {
        long start = System.nanoTime();
        try (NDManager scope = manager.newSubManager();
                GradientCollector collector = manager.getEngine().newGradientCollector()) {
            tokens.attach(scope);
            targets.attach(scope);
            NDArray loss = network.loss(tokens, targets);
            collector.backward(loss);
            loss.getFloat();
            tokens.attach(manager);
            targets.attach(manager);
        }
        long between = System.nanoTime();
        t++;
        network.parameters().forEach((name, w) -> {
            try (NDManager scope = manager.newSubManager()) {
                NDArray g = w.getGradient();
                g.attach(scope);
                w.attach(scope);
                if (hidden(name)) {
                    muon(name, w, g);
                } else {
                    adam(name, w, g);
                }
                g.subi(g);
                w.attach(manager);
            }
        });
        return new Workload.Times((between - start) / 1e6, (System.nanoTime() - between) / 1e6);
    }

    private void muon(String name, NDArray w, NDArray g) {
        NDArray mean = m.get(name);
        mean.muli(0.95f).addi(g.mul(0.05f));
        if (!name.endsWith("qkv")) {
            move(w, orthogonal(mean.mul(1)));
            return;
        }
        long C = w.getShape().get(1);
        for (int part = 0; part < 3; part++) {
            String rows = part * C + ":" + (part + 1) * C;
            move(w.get(rows), orthogonal(mean.get(rows)));
        }
    }

    /** Readings and the move: what our step measures is measured here too. */
    private static void move(NDArray w, NDArray u) {
        w.norm().getFloat();
        u.norm().getFloat();
        w.muli(1 - RATE * DECAY).subi(u.mul(RATE));
    }

    private static NDArray orthogonal(NDArray x) {
        boolean tall = x.getShape().get(0) > x.getShape().get(1);
        NDArray X = tall ? x.transpose() : x;
        X = X.div(X.norm());
        for (int step = 0; step < 5; step++) {
            NDArray A = X.matMul(X.transpose());
            NDArray P = A.matMul(A).muli(2.0315f).addi(A.muli(-4.7750f));
            X = P.matMul(X).addi(X.mul(3.4445f));
        }
        return tall ? X.transpose() : X;
    }

    private void adam(String name, NDArray w, NDArray g) {
        NDArray mean = m.get(name), square = v.get(name);
        mean.muli(0.9f).addi(g.mul(0.1f));
        square.muli(0.95f).addi(g.square().muli(0.05f));
        float c1 = (float) (1 - Math.pow(0.9, t)), c2 = (float) (1 - Math.pow(0.95, t));
        NDArray root = square.div(c2).sqrt().addi(1e-10f);
        w.muli(1 - RATE * DECAY).subi(mean.div(root).muli(RATE / c1));
    }

    @Override
    public void close() {
        manager.close();
    }
}
