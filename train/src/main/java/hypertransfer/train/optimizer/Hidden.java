package hypertransfer.train.optimizer;

import hypertransfer.engine.Engine;
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
     * One that this rank owns; the weight is the master where nothing separates them.
     *
     * @param number among the hidden matrices of all ranks
     * @param whole the name of the parameter that it is, or is a part of
     * @param part its number among the {@code parts} of that parameter
     */
    record Own(int number, String whole, int part, int parts, Tensor master, Tensor gradient, Tensor weight) {}

    /** A matrix of this rank whose parts are copies. */
    private record Copied(Parameter whole, List<Own> parts) {
        List<Tensor> parts(Function<Own, Tensor> of) {
            return parts.stream().map(of).toList();
        }
    }

    final List<Matrix> all;
    final int[] counts; // the parts of each hidden matrix
    final List<Own> own = new ArrayList<>();
    private final List<Copied> copied = new ArrayList<>();
    private final Engine engine;

    Hidden(Engine engine, Parameters parameters, Routing routing) {
        this.engine = engine;
        List<Outline> wholes =
                parameters.hidden().stream().map(Parameter::outline).toList();
        int head = engine.dims().D(), first = 0;
        all = Matrix.of(wholes, routing, head);
        counts = new int[wholes.size()];
        boolean exact = routing.representation().exact();
        for (int p = 0; p < counts.length; first += counts[p++]) {
            Outline whole = wholes.get(p);
            View cut = routing.rule().apply(whole).view().of(whole, head);
            counts[p] = cut.count();
            for (Parameter mine : parameters.own()) {
                if (mine.outline() == whole) {
                    cut(mine, cut, first, exact);
                }
            }
        }
    }

    private void cut(Parameter mine, View cut, int first, boolean exact) {
        List<Own> parts = new ArrayList<>();
        boolean copies = cut.across() > 1;
        Role role = exact ? Role.EXACT_MASTER : Role.MASTER;
        for (int k = 0; k < cut.count(); k++) {
            Matrix m = all.get(first + k);
            Tensor master = copies ? copy(role, m) : rows(mine.master(), m, k);
            Tensor gradient = copies ? copy(Role.HIDDEN_GRADIENT, m) : rows(mine.gradient(), m, k);
            Tensor weight = !mine.separate() ? master : copies ? copy(Role.WEIGHT, m) : rows(mine.weight(), m, k);
            parts.add(new Own(first + k, mine.name(), k, cut.count(), master, gradient, weight));
        }
        if (copies) {
            copied.add(new Copied(mine, parts));
        }
        own.addAll(parts);
    }

    private Tensor copy(Role role, Matrix m) {
        return engine.tensor(role, m.name(), m.rows(), m.cols());
    }

    private Tensor rows(Tensor whole, Matrix m, int k) {
        return whole.rows() == m.rows() ? whole : engine.slice(whole, m.name(), k * m.rows(), m.rows());
    }

    /** Takes the masters as they were written. */
    void takeMasters() {
        copied.forEach(c -> engine.motion().cut(c.whole.master(), c.parts(Own::master), false));
    }

    /** Takes the gradients as they stand ready. */
    void takeGradients() {
        copied.forEach(c -> engine.motion().cut(c.whole.gradient(), c.parts(Own::gradient), false));
    }

    /** Gives the masters back, as checkpoints have them. */
    void giveMasters() {
        copied.forEach(c -> engine.motion().cut(c.whole.master(), c.parts(Own::master), true));
    }

    /** Gives the weights back that were represented. */
    void giveWeights() {
        copied.stream()
                .filter(c -> c.whole.separate())
                .forEach(c -> engine.motion().cut(c.whole.weight(), c.parts(Own::weight), true));
    }
}
