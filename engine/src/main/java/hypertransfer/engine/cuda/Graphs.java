package hypertransfer.engine.cuda;

import java.util.HashMap;
import java.util.Map;

/** Sequences of launches under a name, recorded as CUDA graphs at their second run and replayed from then on. */
final class Graphs implements AutoCloseable {
    private static final long SEEN = 0; // no graph yet: the first run times algorithms, which cannot be recorded

    private final Device device;
    private final Map<String, Long> graphs = new HashMap<>();

    Graphs(Device device) {
        this.device = device;
    }

    void run(String name, Runnable operations) {
        Long graph = graphs.get(name);
        if (graph == null || device.profile().on()) {
            operations.run();
            graphs.put(name, SEEN);
            return;
        }
        if (graph == SEEN) {
            device.record();
            try {
                operations.run();
            } catch (RuntimeException e) {
                device.drop(device.recorded());
                throw e;
            }
            graph = device.recorded();
            graphs.put(name, graph);
        }
        device.run(graph);
    }

    @Override
    public void close() {
        graphs.values().stream().filter(graph -> graph != SEEN).forEach(device::drop);
    }
}
