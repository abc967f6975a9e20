package hypertransfer.train.optimizer;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.train.network.Outline;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What directions remember, in tensors of the engine, by the names that they have in files. */
public record Memories(Engine engine, Map<String, Tensor> tensors) {
    /** For each memory a tensor for each of these; the parts of a parameter lie one below the other. */
    List<List<Tensor>> declare(Direction direction, List<Hidden.Own> members) {
        List<List<Tensor>> all = new ArrayList<>();
        for (String memory : direction.memory()) {
            List<Tensor> declared = new ArrayList<>();
            for (Hidden.Own m : members) {
                String name = name(memory, m.whole());
                Direction.Extent extent =
                        direction.extent(memory, m.master().rows(), m.master().cols());
                int rows = extent.rows();
                Tensor whole = tensors.computeIfAbsent(
                        name, n -> engine.tensor(Role.STATE, n, m.parts() * rows, extent.cols()));
                declared.add(m.parts() == 1 ? whole : engine.slice(whole, name, m.part() * rows, rows));
            }
            all.add(declared);
        }
        return all;
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
