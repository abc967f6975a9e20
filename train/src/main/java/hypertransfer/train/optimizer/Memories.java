package hypertransfer.train.optimizer;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.train.network.Outline;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;

/** What directions remember, in tensors of the engine, by the names that they have in files. */
public record Memories(Engine engine, Map<String, Tensor> tensors) {
    /** For each memory a tensor for each of these; the parts of a parameter lie one below the other. */
    List<List<Tensor>> declare(Direction direction, List<Hidden.Own> members) {
        return IntStream.range(0, memory(direction, members.getFirst()).size())
                .mapToObj(i -> members.stream()
                        .map(m -> declare(memory(direction, m).get(i), m))
                        .toList())
                .toList();
    }

    private static List<Direction.Memory> memory(Direction direction, Hidden.Own m) {
        Tensor master = m.tensors().master();
        return direction.memory(master.rows(), master.cols());
    }

    private Tensor declare(Direction.Memory memory, Hidden.Own m) {
        String name = name(memory, m.tensors().outline());
        int rows = memory.rows();
        Tensor whole =
                tensors.computeIfAbsent(name, _ -> engine.tensor(Role.STATE, name, m.parts() * rows, memory.cols()));
        return m.parts() == 1 ? whole : engine.slice(whole, name, m.part() * rows, rows);
    }

    /**
     * A tensor that a direction remembers of a whole parameter.
     *
     * @param parameter its number
     */
    public record Extent(int parameter, int rows, int cols) {}

    /** Those of all ranks, for these parameters. */
    static Map<String, Extent> all(List<Outline> parameters, Routing routing, int headWidth) {
        Map<String, Extent> memories = new TreeMap<>();
        for (int p = 0; p < parameters.size(); p++) {
            Outline whole = parameters.get(p);
            Direction direction = routing.rest();
            View cut = View.WHOLE;
            if (whole.hidden()) {
                Rule rule = routing.rule().apply(whole);
                direction = rule.direction();
                cut = rule.view().of(whole, headWidth);
            }
            for (Direction.Memory m : direction.memory(whole.rows() / cut.down(), whole.cols() / cut.across())) {
                memories.put(name(m, whole), new Extent(p, cut.count() * m.rows(), m.cols()));
            }
        }
        return memories;
    }

    private static String name(Direction.Memory memory, Outline parameter) {
        return memory.name() + ":" + parameter.name();
    }
}
