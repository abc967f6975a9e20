package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The tiny network trained on the reference engine, with the plain optimizers written out as the paper writes them and
 * not by {@code core}; its gradients are PyTorch's in double precision. The transfers have no code here: they must arrive where
 * their targets do.
 */
final class TinyReference implements AutoCloseable {
    /** What moves the hidden matrices. */
    sealed interface Law {
        record Base(double decay) implements Law {}

        record Hyperball() implements Law {}

        record Fair(double decay) implements Law {}
    }

    /** A parameter, its gradient, which becomes its direction, and what directions remember. */
    private record Slot(List<Tensor> w, List<Tensor> u, List<Tensor> m, List<Tensor> v) {}

    private static final Iteration NEWTON_SCHULZ = Iteration.repeated(5, 3.4445, -4.7750, 2.0315);
    private static final double[] ONE = {1};

    private final Engine engine;
    private final TinyTraining network;
    private final Map<String, Slot> slots = new LinkedHashMap<>();
    private final Map<String, Double> radius = new LinkedHashMap<>();
    private int t;

    /** @param invariant whether norms make the loss invariant to the hidden matrices' scale (M1) or not (M2) */
    TinyReference(TinyWeights start, boolean invariant) {
        Rule unused = Rule.adamW((id, step) -> 0, 0);
        network = new TinyTraining(start, invariant, DataType.FLOAT64, unused, unused);
        engine = Engines.open("reference", new Dims(1, 1, TinyWeights.C, TinyWeights.D, TinyWeights.V));
        start.values().forEach((name, values) -> {
            int rows = TinyWeights.rows(name), cols = values.length / rows;
            slots.put(
                    name,
                    new Slot(
                            List.of(engine.tensor(Role.WEIGHT, name, rows, cols)),
                            List.of(engine.tensor(Role.GRADIENT, name, rows, cols)),
                            List.of(engine.tensor(Role.STATE, name, rows, cols)),
                            List.of(engine.tensor(Role.STATE, name, rows, cols))));
        });
        engine.commit();
        start.values().forEach((name, values) -> engine.write(slots.get(name).w.getFirst(), values));
        for (String name : List.of("fc", "proj")) {
            radius.put(name, engine.motion().readings(slots.get(name).w, slots.get(name).w)[0]);
        }
    }

    /** One step, and the loss before it. */
    double step(boolean muon, Law law, double hiddenRate, double restRate, double restDecay) {
        double loss = gradients();
        slots.forEach((name, slot) -> {
            boolean hidden = radius.containsKey(name);
            direction(slot, hidden && muon);
            if (!hidden) {
                move(slot, 1 - restRate * restDecay, restRate);
                return;
            }
            double[] read = engine.motion().readings(slot.w, slot.u);
            double norm = read[0], u = read[1];
            switch (law) {
                case Law.Base(double decay) -> move(slot, 1 - hiddenRate * decay, hiddenRate);
                case Law.Fair(double decay) -> {
                    double fair = hiddenRate * norm / (u + hiddenRate * decay * norm);
                    move(slot, 1 - fair * decay, fair);
                }
                case Law.Hyperball() -> {
                    double R = radius.get(name);
                    move(slot, 1, hiddenRate * R / u);
                    move(slot, R / engine.motion().readings(slot.w, slot.u)[0], 0);
                }
            }
        });
        t++;
        return loss;
    }

    double[] weight(String name) {
        return engine.read(slots.get(name).w.getFirst());
    }

    private void move(Slot slot, double keep, double push) {
        engine.motion().move(slot.w, slot.u, new double[] {keep}, new double[] {push});
    }

    private void direction(Slot slot, boolean muon) {
        if (muon) {
            engine.motion().momentum(slot.u, ONE, t == 0 ? 0 : 0.95, false, slot.m);
            engine.motion().orthogonalize(slot.u, NEWTON_SCHULZ);
        } else {
            engine.motion().adam(slot.u, ONE, new Moments(0.9, 0.95, 1e-10, t + 1), slot.m, slot.v);
        }
    }

    /** The gradients at the engine's weights, and the loss there. */
    private double gradients() {
        slots.keySet().forEach(name -> network.set(name, weight(name)));
        double loss = network.backward(t);
        slots.forEach((name, slot) -> {
            try (NDArray gradient = network.block.parameter(name).getArray().getGradient()) {
                engine.write(slot.u.getFirst(), gradient.toDoubleArray());
                gradient.muli(0); // the next backward pass adds to it
            }
        });
        return loss;
    }

    @Override
    public void close() {
        engine.close();
        network.close();
    }
}
