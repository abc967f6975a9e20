package hypertransfer.engine.provider;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.Status;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.cuda.CudaEngine;
import hypertransfer.engine.cuda.kernel.Precision;
import hypertransfer.engine.door.Checked;
import hypertransfer.engine.ranks.library.Launcher;
import hypertransfer.engine.reference.ReferenceEngine;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;

/** The engines there are, and what is known of them without opening one. Only the engine that is asked for is examined. */
public final class Engines {
    private static final String CPU = "float32, OpenBLAS and the Vector API",
            REFERENCE = "double precision, one thread, slow and obvious";

    /**
     * One engine.
     *
     * @param weights the format of weights and activations
     * @param description null where {@code auto} never means it, and no survey names it
     * @param missing what would make it work on this machine; empty where it does
     */
    record Kind(
            String name,
            Format weights,
            Supplier<String> description,
            Supplier<String> missing,
            Function<Dims, Engine> open) {
        private boolean preferred() {
            return description != null;
        }
    }

    private static final List<Kind> KINDS = List.of(
            new Kind("cuda", Format.BF16, CudaEngine::description, CudaEngine::missing, cuda(Precision.BF16)),
            new Kind("cpu", Format.FLOAT32, () -> CPU, CpuEngine::missing, CpuEngine::new),
            new Kind("reference", Format.FLOAT64, () -> REFERENCE, () -> "", ReferenceEngine::new),
            new Kind("cuda-fp8", Format.FP8, null, CudaEngine::missing, cuda(Precision.E4M3)),
            new Kind("reference-fp8", Format.FP8, null, () -> "", dims -> new ReferenceEngine(dims, Format.FP8)),
            new Kind("cuda-float32", Format.FLOAT32, null, CudaEngine::missing, cuda(Precision.FLOAT32)));

    private Engines() {}

    private static Function<Dims, Engine> cuda(Precision precision) {
        return dims -> new CudaEngine(dims, precision, Launcher.here().local());
    }

    /** All engines that {@code auto} may mean, each examined. */
    public static List<Status> survey() {
        return KINDS.stream()
                .filter(Kind::preferred)
                .map(kind -> new Status(kind.name, kind.description.get(), kind.missing.get()))
                .toList();
    }

    /** Their names, in the order in which {@code auto} tries them. */
    public static String order() {
        return names(KINDS.stream().filter(Kind::preferred).toList());
    }

    private static String names(List<Kind> kinds) {
        return String.join(", ", kinds.stream().map(Kind::name).toList());
    }

    /** The name of an engine that works here: the one asked for, never another; for {@code auto} the first there is. */
    public static String choose(String name) {
        return choose(KINDS, name).name;
    }

    static Kind choose(List<Kind> kinds, String name) {
        if (name.equals("auto")) {
            return kinds.stream()
                    .filter(kind -> kind.preferred() && kind.missing.get().isEmpty())
                    .findFirst()
                    .orElseThrow();
        }
        Kind kind = find(kinds, name);
        String missing = kind.missing.get();
        if (!missing.isEmpty()) {
            throw new EngineException("engine " + name + " does not work here: " + missing);
        }
        return kind;
    }

    private static Kind find(List<Kind> kinds, String name) {
        return kinds.stream()
                .filter(kind -> kind.name.equals(name))
                .findFirst()
                .orElseThrow(() ->
                        new EngineException("unknown engine '" + name + "'; the engines are auto, " + names(kinds)));
    }

    /** Whether there is an engine of this name, and it works here. */
    public static boolean works(String name) {
        return KINDS.stream()
                .anyMatch(kind -> kind.name.equals(name) && kind.missing.get().isEmpty());
    }

    /** The format of an engine's weights and activations, without opening it. */
    public static Format weights(String name) {
        return find(KINDS, name).weights;
    }

    /** The engine of this name whose products are in eight bits. */
    public static String fp8(String name) {
        if (name.endsWith("-fp8")) {
            return name;
        }
        if (KINDS.stream().noneMatch(kind -> kind.name.equals(name + "-fp8"))) {
            throw new EngineException("engine " + name + " has no fp8; take cuda, or set model.precision to auto");
        }
        return name + "-fp8";
    }

    /** The engine that computes in float32 at least, on the same hardware: for proof. */
    public static String exact(String name) {
        return weights(name) == Format.BF16 ? name + "-float32" : name;
    }

    /** The width in bits of the vectors that Java has on this machine; zero if the JVM was started without them. */
    public static int vectorBits() {
        return CpuEngine.vectorBits();
    }

    /** Opens an engine by name, behind the door that checks every call. */
    public static Engine open(String name, Dims dims) {
        return Checked.of(choose(KINDS, name).open.apply(dims));
    }
}
