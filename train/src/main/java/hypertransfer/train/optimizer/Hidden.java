package hypertransfer.train.optimizer;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Readings;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * The hidden matrices as the optimizer sees them: whole, or in parts. Parts that lie one below the other are rows of the whole; parts
 * beside each other are copied, and copied back after they have moved.
 */
final class Hidden {
    /**
     * One that this rank owns.
     *
     * @param number among the hidden matrices of all ranks
     * @param part its number among the {@code parts} of its parameter
     * @param tensors its own, with the outline of the parameter that it is, or is a part of
     */
    record Own(int number, int part, int parts, Parameter tensors) {}

    /** A matrix of this rank whose parts are copies. */
    private record Copied(Parameter whole, List<Parameter> parts) {}

    final List<Matrix> all = new ArrayList<>();
    final int[] readings; // the numbers that a reading of each hidden matrix has, of all its parts
    final List<Own> own = new ArrayList<>();
    private final List<Copied> copied = new ArrayList<>();
    private final Engine engine;

    Hidden(Engine engine, Parameters parameters, Routing routing) {
        this.engine = engine;
        List<Parameter> wholes = parameters.hidden();
        readings = new int[wholes.size()];
        Role master = routing.representation().exact() ? Role.EXACT_MASTER : Role.MASTER;
        for (int p = 0; p < readings.length; p++) {
            Outline whole = wholes.get(p).outline();
            List<Matrix> parts = Matrix.of(whole, routing, engine.dims().D());
            for (Parameter mine : parameters.own()) {
                if (mine.outline() == whole) {
                    cut(mine, parts, all.size(), master);
                }
            }
            all.addAll(parts);
            readings[p] = Readings.EACH * parts.size();
        }
    }

    private void cut(Parameter mine, List<Matrix> matrices, int first, Role role) {
        List<Parameter> parts = new ArrayList<>();
        boolean copies = matrices.getFirst().cols() < mine.outline().cols();
        for (int k = 0; k < matrices.size(); k++) {
            Matrix m = matrices.get(k);
            Tensor master = copies ? copy(role, m) : rows(mine.master(), m, k);
            Tensor gradient = copies ? copy(Role.HIDDEN_GRADIENT, m) : rows(mine.gradient(), m, k);
            Tensor weight = !mine.separate() ? master : copies ? copy(Role.WEIGHT, m) : rows(mine.weight(), m, k);
            parts.add(new Parameter(mine.outline(), weight, master, gradient));
            own.add(new Own(first + k, k, matrices.size(), parts.getLast()));
        }
        if (copies) {
            copied.add(new Copied(mine, parts));
        }
    }

    private Tensor copy(Role role, Matrix m) {
        return engine.tensor(role, m.name(), m.rows(), m.cols());
    }

    private Tensor rows(Tensor whole, Matrix m, int k) {
        return whole.rows() == m.rows() ? whole : engine.slice(whole, m.name(), k * m.rows(), m.rows());
    }

    /** Takes a tensor of the whole matrices, as it was written or stands ready, into the parts that are copies. */
    void take(Function<Parameter, Tensor> tensor) {
        copy(tensor, false);
    }

    /** Gives it back, as checkpoints and the network have it. */
    void give(Function<Parameter, Tensor> tensor) {
        copy(tensor, true);
    }

    private void copy(Function<Parameter, Tensor> tensor, boolean back) {
        for (Copied c : copied) {
            engine.motion()
                    .cut(tensor.apply(c.whole), c.parts.stream().map(tensor).toList(), back);
        }
    }
}
