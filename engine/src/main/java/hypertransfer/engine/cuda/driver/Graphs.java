package hypertransfer.engine.cuda.driver;

import java.util.HashMap;
import java.util.Map;

/** Sequences of launches under a name, captured as CUDA graphs at their second run and replayed from then on. */
public record Graphs(Device device, Map<String, Long> graphs) {
    private static final long SEEN = 0; // no graph yet: the first run times algorithms, which cannot be captured

    public Graphs(Device device) {
        this(device, new HashMap<>());
    }

    public void run(String name, Runnable operations) {
        Long graph = graphs.get(name);
        if (graph == null) {
            operations.run();
            graphs.put(name, SEEN);
            return;
        }
        if (graph == SEEN) {
            graph = capture(operations);
            graphs.put(name, graph);
        }
        device.run(graph);
    }

    private long capture(Runnable operations) {
        device.beginCapture();
        try {
            operations.run();
        } catch (RuntimeException | Error e) {
            try {
                device.abandonCapture();
            } catch (RuntimeException second) { // of a capture that is broken already
                e.addSuppressed(second);
            }
            throw e;
        }
        return device.endCapture();
    }
}
