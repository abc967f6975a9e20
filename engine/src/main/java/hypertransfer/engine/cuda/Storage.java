package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;

/** The tensors of an engine: declared, then placed, one piece of the card's memory for each role. */
final class Storage implements AutoCloseable {
    private static final long MARGIN = 256L << 20; // what the driver and cuBLASLt take for themselves

    private final Device device;
    private final Dims dims;
    private final Precision precision;
    private final Map<Role, List<Block>> declared = new EnumMap<>(Role.class);
    private final List<Long> pieces = new ArrayList<>();
    private Scratch scratch;
    private long base;

    Storage(Device device, Dims dims, Precision precision) {
        this.device = device;
        this.dims = dims;
        this.precision = precision;
    }

    Block declare(Role role, String name, int rows, int cols) {
        Block block = new Block(name, rows, cols, format(role, precision));
        declared.computeIfAbsent(role, r -> new ArrayList<>()).add(block);
        return block;
    }

    static Precision format(Role role, Precision precision) {
        return switch (role) {
            case WEIGHT, ACTIVATION, SCRATCH -> precision;
            case GAIN, STATISTIC, MASTER, EXACT_MASTER, GRADIENT, HIDDEN_GRADIENT, STATE -> Precision.FLOAT32;
        };
    }

    /** Places what was declared since the last time, if it fits. */
    Memory commit() {
        Map<Role, List<Block>> fresh = new EnumMap<>(Role.class);
        declared.forEach((role, all) ->
                fresh.put(role, all.stream().filter(block -> !block.placed()).toList()));
        boolean first = scratch == null;
        long matrix = largest(Block::size), side = largest(b -> Math.min(b.rows(), b.cols()));
        Scratch plan = first ? Scratch.of(dims, precision, matrix, side) : scratch;
        Memory memory = Planner.memory(declared, plan.bytes());
        long free = device.free() - MARGIN;
        if (Planner.memory(fresh, first ? plan.bytes() : 0).total() > free) {
            throw new EngineException(Planner.refusal(memory, free, dims, precision, matrix, side));
        }
        fresh.values().forEach(this::place);
        if (first) {
            scratch = plan;
            base = take(scratch.bytes());
        }
        return memory;
    }

    /** Of the matrices that Newton-Schulz may meet. */
    private long largest(ToLongFunction<Block> measure) {
        return declared.getOrDefault(Role.HIDDEN_GRADIENT, List.of()).stream()
                .mapToLong(measure)
                .max()
                .orElse(0);
    }

    private void place(List<Block> fresh) {
        long bytes = fresh.stream().mapToLong(b -> Scratch.aligned(b.bytes())).sum();
        if (bytes > 0) {
            long at = take(bytes);
            for (Block block : fresh) {
                block.place(at);
                at += Scratch.aligned(block.bytes());
            }
        }
    }

    private long take(long bytes) {
        long pointer = device.allocate(bytes);
        pieces.add(pointer);
        device.zero(pointer, bytes);
        return pointer;
    }

    Scratch scratch() {
        return scratch;
    }

    /** Where scratch begins. */
    long base() {
        return base;
    }

    void write(Tensor tensor, double[] values) {
        Block block = (Block) tensor;
        if (values.length != block.size()) {
            throw new EngineException(
                    values.length + " values for " + block.name() + " (" + block.rows() + "," + block.cols() + ")");
        }
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate(block.bytes(), 64);
            Host.encode(values, block.format(), host);
            device.upload(host, block.pointer(), host.byteSize());
            device.synchronize();
        }
    }

    double[] read(Tensor tensor) {
        Block block = (Block) tensor;
        return read(block.pointer(), block.format(), Math.toIntExact(block.size()));
    }

    double[] read(long pointer, Precision format, int count) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment host = arena.allocate((long) count * format.bytes, 64);
            device.download(pointer, host, host.byteSize());
            return Host.decode(host, format, count);
        }
    }

    @Override
    public void close() {
        pieces.forEach(device::free);
        pieces.clear();
    }
}
