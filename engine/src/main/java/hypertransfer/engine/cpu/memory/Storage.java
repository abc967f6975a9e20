package hypertransfer.engine.cpu.memory;

import com.sun.management.OperatingSystemMXBean;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Role;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** The tensors of an engine and their memory outside the heap: one block per role, freed by closing. */
public final class Storage implements AutoCloseable {
    /** A cache line, and the widest vector. */
    private static final int ALIGN = 64;

    private final Arena arena = Arena.ofShared();
    private final Map<Role, List<Floats>> declared = new EnumMap<>(Role.class);

    public Floats declare(Role role, String name, int rows, int cols) {
        Floats tensor = new Floats(role, name, rows, cols);
        declared.computeIfAbsent(role, r -> new ArrayList<>()).add(tensor);
        return tensor;
    }

    public Memory commit() {
        Map<Role, Long> bytes = new EnumMap<>(Role.class);
        declared.forEach((role, tensors) ->
                bytes.put(role, tensors.stream().mapToLong(Storage::size).sum()));
        Memory memory = new Memory(bytes);
        long free = available();
        if (memory.total() > free) {
            throw new EngineException(memory.table() + "does not fit into the " + free / 1048576
                    + " MiB of memory that are free; "
                    + memory.remedy("lower the batch and accumulate gradients over more micro-batches,"
                            + " or take a smaller network"));
        }
        declared.forEach((role, tensors) -> {
            long at = arena.allocate(bytes.get(role), ALIGN).address();
            for (Floats tensor : tensors) {
                tensor.place(at);
                at += size(tensor);
            }
        });
        return memory;
    }

    private static long size(Floats tensor) {
        return (tensor.bytes() + ALIGN - 1) / ALIGN * ALIGN;
    }

    /** What the system, or the container around us, still has to give. */
    private static long available() {
        long total = ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getTotalMemorySize();
        long taken = kilobytes("/proc/self/status", "VmRSS:", 0);
        return Math.min(total - taken, kilobytes("/proc/meminfo", "MemAvailable:", Long.MAX_VALUE));
    }

    private static long kilobytes(String file, String key, long otherwise) {
        try {
            return Files.readAllLines(Path.of(file)).stream()
                    .filter(line -> line.startsWith(key))
                    .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")) * 1024)
                    .findFirst()
                    .orElse(otherwise);
        } catch (IOException e) { // not Linux
            return otherwise;
        }
    }

    @Override
    public void close() {
        arena.close();
    }
}
