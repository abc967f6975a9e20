package hypertransfer.lab;

import hypertransfer.engine.EngineException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The engines by name, and whether each works on this machine. A new engine is one more line in {@link #probes}. */
final class Engines {
    private Engines() {}

    /** Tries an engine: what it would run on, or an {@link EngineException} with the one thing that would make it work. */
    interface Probe {
        String run();
    }

    /**
     * What a probe found.
     *
     * @param detail what the engine would run on or, if it does not work, the one thing that would make it work
     */
    record Finding(String engine, boolean works, String detail) {}

    static Map<String, Probe> probes() {
        var probes = new LinkedHashMap<String, Probe>();
        probes.put("reference", () -> "double precision, scalar Java: slow and exact");
        probes.put("cpu", Engines::absent);
        probes.put("cuda", Engines::absent);
        return probes;
    }

    static List<Finding> find(Map<String, Probe> probes) {
        return probes.entrySet().stream()
                .map(e -> find(e.getKey(), e.getValue()))
                .toList();
    }

    private static Finding find(String engine, Probe probe) {
        try {
            return new Finding(engine, true, probe.run());
        } catch (EngineException e) {
            return new Finding(engine, false, e.getMessage());
        } catch (LinkageError e) { // a native library that is missing, or built for another machine
            return new Finding(engine, false, "its native library does not load: " + e.getMessage());
        }
    }

    private static String absent() {
        throw new EngineException("this version does not contain it yet: use a later one");
    }
}
