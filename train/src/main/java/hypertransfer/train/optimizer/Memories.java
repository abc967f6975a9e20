package hypertransfer.train.optimizer;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.train.network.Outline;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What directions remember, in tensors of the engine, by the names that they have in files. */
public final class Memories {
    private final Engine engine;
    private final Map<String, Tensor> tensors = new LinkedHashMap<>();

    Memories(Engine engine) {
        this.engine = engine;
    }

    /** A parameter of which a direction remembers something, in so many parts of one shape. */
    record Parts(String name, int count, int rows, int cols) {
        Parts with(Parts more) {
            return new Parts(name, count + more.count, rows, cols);
        }
    }

    /** For each memory a tensor for each part; the parts of a parameter lie one below the other. */
    List<List<Tensor>> declare(Direction direction, List<Parts> parameters) {
        List<List<Tensor>> all = new ArrayList<>();
        for (String memory : direction.memory()) {
            List<Tensor> declared = new ArrayList<>();
            for (Parts p : parameters) {
                String name = name(memory, p.name);
                Direction.Extent extent = direction.extent(memory, p.rows, p.cols);
                Tensor tensor = engine.tensor(Role.STATE, name, p.count * extent.rows(), extent.cols());
                for (int k = 0; k < p.count; k++) {
                    declared.add(p.count == 1 ? tensor : engine.slice(tensor, name, k * extent.rows(), extent.rows()));
                }
                tensors.put(name, tensor);
            }
            all.add(declared);
        }
        return all;
    }

    Map<String, Tensor> tensors() {
        return Map.copyOf(tensors);
    }

    /**
     * A tensor that a direction remembers.
     *
     * @param parameter the number of its parameter
     */
    public record Memory(int parameter, int rows, int cols) {}

    /** Those of all ranks, for these parameters. */
    static Map<String, Memory> all(List<Outline> parameters, Routing routing, int headWidth) {
        Map<String, Memory> memories = new TreeMap<>();
        for (int p = 0; p < parameters.size(); p++) {
            Outline whole = parameters.get(p);
            Direction direction = routing.rest();
            View cut = View.WHOLE;
            if (whole.hidden()) {
                Rule rule = routing.rule().apply(whole);
                direction = rule.direction();
                cut = rule.view().of(whole, headWidth);
            }
            for (String memory : direction.memory()) {
                Direction.Extent extent =
                        direction.extent(memory, whole.rows() / cut.down(), whole.cols() / cut.across());
                memories.put(name(memory, whole.name()), new Memory(p, cut.count() * extent.rows(), extent.cols()));
            }
        }
        return memories;
    }

    private static String name(String memory, String parameter) {
        return memory + ":" + parameter;
    }
}
