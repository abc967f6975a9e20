package hypertransfer.engine.door;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Motion;
import java.lang.reflect.Method;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * A door that measures how long each operation takes, on any engine. It waits for the engine before and after every
 * operation, and runs what would be replayed operation by operation: so the times are true, and a step of a card takes
 * longer than it does without this door.
 */
public final class Timed {
    /** The operations of {@link Engine} itself; the others tell something, or do other operations. */
    private static final Set<String> OWN =
            Set.of("write", "read", "sum", "zero", "pack", "unpack", "store", "load", "feed");

    private final Engine engine;
    private final Map<String, Operation> operations = new LinkedHashMap<>();

    /**
     * One operation of {@link Engine}, {@link Layers} or {@link Motion}.
     *
     * @param count how often it was called
     * @param ms how long it took in all
     */
    public record Operation(String name, long count, double ms) {}

    public Timed(Engine engine) {
        this.engine = engine;
    }

    /** The engine with this door before it. */
    public Engine door() {
        Layers layers = Call.door(Layers.class, (method, args) -> timed(engine.layers(), method, args));
        Motion motion = Call.door(Motion.class, (method, args) -> timed(engine.motion(), method, args));
        return Call.door(Engine.class, (method, args) -> switch (method.getName()) {
            case "layers" -> layers;
            case "motion" -> motion;
            case "replay" -> {
                ((Runnable) args[1]).run();
                yield null;
            }
            default ->
                OWN.contains(method.getName()) ? timed(engine, method, args) : Call.through(engine, method, args);
        });
    }

    public void clear() {
        operations.clear();
    }

    /** All operations since, those that took longest first. */
    public List<Operation> operations() {
        return operations.values().stream()
                .sorted(Comparator.comparingDouble(Operation::ms).reversed())
                .toList();
    }

    /**
     * One line per operation: calls and milliseconds per step, and its part of the step; then what lies between operations.
     *
     * @param steps how many steps were taken since
     * @param ms how long they took in all
     */
    public String table(int steps, double ms) {
        StringBuilder table = new StringBuilder(String.format("%-28s %9s %11s %8s%n", "operation", "calls", "ms", "%"));
        double all = 0;
        for (Operation o : operations()) {
            all += o.ms;
            table.append(line(o.name, (double) o.count / steps, o.ms / steps, 100 * o.ms / ms));
        }
        return table.append(line("between operations", Double.NaN, (ms - all) / steps, 100 * (ms - all) / ms))
                .append(line("a step", Double.NaN, ms / steps, 100))
                .toString();
    }

    private static String line(String name, double calls, double ms, double percent) {
        String times = Double.isNaN(calls) ? "" : String.format(Locale.ROOT, "%.1f", calls);
        return String.format(Locale.ROOT, "%-28s %9s %11.3f %8.1f%n", name, times, ms, percent);
    }

    private Object timed(Object owner, Method method, Object[] args) throws Throwable {
        engine.await();
        long start = System.nanoTime();
        Object result = Call.through(owner, method, args);
        engine.await();
        Operation now = new Operation(method.getName(), 1, (System.nanoTime() - start) / 1e6);
        operations.merge(now.name, now, (a, b) -> new Operation(a.name, a.count + b.count, a.ms + b.ms));
        return result;
    }
}
