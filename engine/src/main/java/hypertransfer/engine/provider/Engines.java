package hypertransfer.engine.provider;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.reference.ReferenceEngine;
import java.util.List;

/** The engines there are, in the order in which {@code auto} prefers them. */
public final class Engines {
    private Engines() {}

    /**
     * What an engine is like on this machine.
     *
     * @param missing what would make it work; empty where it does
     */
    public record Status(String name, String description, String missing) {
        public boolean works() {
            return missing.isEmpty();
        }
    }

    public static List<Status> survey() {
        return List.of(
                new Status("cuda", "bf16 or float32 on an NVIDIA card", "this version does not contain it yet"),
                new Status("cpu", "float32, OpenBLAS and the Vector API", "this version does not contain it yet"),
                new Status("reference", "double precision, one thread, slow and obvious", ""));
    }

    /** The name itself, or for {@code auto} the first engine that works. */
    public static String choose(String name) {
        return name.equals("auto")
                ? survey().stream()
                        .filter(Status::works)
                        .findFirst()
                        .orElseThrow()
                        .name()
                : name;
    }

    /** Opens the engine of this name; never another one. */
    public static Engine open(String name, Dims dims) {
        Status status = survey().stream()
                .filter(s -> s.name().equals(name))
                .findFirst()
                .orElseThrow(() -> new EngineException("unknown engine '" + name + "'; the engines are "
                        + String.join(", ", survey().stream().map(Status::name).toList())));
        if (!status.works()) {
            throw new EngineException("engine " + name + " does not work here: " + status.missing());
        }
        return switch (name) {
            case "reference" -> new ReferenceEngine(dims);
            default -> throw new IllegalStateException(name);
        };
    }
}
