package hypertransfer.engine.provider;

import hypertransfer.engine.Checked;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.cuda.CudaEngine;
import hypertransfer.engine.cuda.Precision;
import hypertransfer.engine.reference.ReferenceEngine;
import java.util.List;

/** The engines there are, in the order in which {@code auto} prefers them. */
public final class Engines {
    /** The cuda engine in float32, for proof; {@code auto} never means it. */
    public static final String CUDA_FLOAT32 = "cuda-float32";

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
                new Status(
                        "cuda", "bf16 on an NVIDIA card", CudaEngine.missing().orElse("")),
                new Status("cpu", "float32, OpenBLAS and the Vector API", CpuEngine.missing()),
                new Status("reference", "double precision, one thread, slow and obvious", ""));
    }

    /** All names, in the order in which {@code auto} tries them. */
    public static String order() {
        return String.join(", ", survey().stream().map(Status::name).toList());
    }

    /** The name of an engine that works here: the one asked for, never another; for {@code auto} the first there is. */
    public static String choose(String name) {
        List<Status> survey = survey();
        if (name.equals("auto")) {
            return survey.stream()
                    .filter(Status::works)
                    .findFirst()
                    .orElseThrow()
                    .name();
        }
        Status status = survey.stream()
                .filter(s -> s.name().equals(name.equals(CUDA_FLOAT32) ? "cuda" : name))
                .findFirst()
                .orElseThrow(
                        () -> new EngineException("unknown engine '" + name + "'; the engines are auto, " + order()));
        if (!status.works()) {
            throw new EngineException("engine " + name + " does not work here: " + status.missing());
        }
        return name;
    }

    /** Opens an engine by name, behind the door that checks every call. */
    public static Engine open(String name, Dims dims) {
        return new Checked(
                switch (choose(name)) {
                    case "cuda" -> new CudaEngine(dims, Precision.BF16);
                    case CUDA_FLOAT32 -> new CudaEngine(dims, Precision.FLOAT32);
                    case "cpu" -> new CpuEngine(dims);
                    case "reference" -> new ReferenceEngine(dims);
                    default -> throw new IllegalStateException(name);
                });
    }
}
