package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Fp8.Grid;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.kernel.DeviceTensor;
import hypertransfer.engine.cuda.kernel.Precision;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/** The tensors of an engine: declared, then placed, in one piece of the card's memory per role. */
final class Storage {
    private static final long MARGIN = 256L << 20; // what the driver and cuBLASLt take for themselves

    private final Device device;
    private final Dims dims;
    private final Precision precision;
    private final Map<Role, List<DeviceTensor>> declared = new EnumMap<>(Role.class);
    private Scratch scratch;

    Storage(Device device, Dims dims, Precision precision) {
        this.device = device;
        this.dims = dims;
        this.precision = precision;
    }

    DeviceTensor declare(Role role, String name, int rows, int cols) {
        DeviceTensor tensor = new DeviceTensor(name, rows, cols, format(role, precision));
        declared.computeIfAbsent(role, r -> new ArrayList<>()).add(tensor);
        return tensor;
    }

    static Precision format(Role role, Precision precision) {
        return switch (role) {
            case WEIGHT, ACTIVATION, SCRATCH -> precision.activations();
            case OPERAND -> precision;
            case OPERAND_GRADIENT -> precision == Precision.E4M3 ? Precision.E5M2 : precision;
            case GAIN, STATISTIC, MASTER, GRADIENT, HIDDEN_GRADIENT, STATE -> Precision.FLOAT32;
            case EXACT_MASTER -> Precision.FLOAT64;
        };
    }

    Memory commit() {
        long matrix = largest(DeviceTensor::size), side = largest(t -> Math.min(t.rows(), t.cols()));
        long own = new Scratch(0, dims, precision, matrix, side).bytes();
        Memory memory = memory(declared, own);
        long free = device.available() - MARGIN;
        if (memory.total() > free) {
            throw new EngineException(refusal(memory, free, dims, precision, matrix, side));
        }
        declared.values().forEach(this::place);
        scratch = new Scratch(take(own), dims, precision, matrix, side);
        return memory;
    }

    /** Of the matrices that Newton-Schulz may meet. */
    private long largest(ToLongFunction<DeviceTensor> measure) {
        return declared.getOrDefault(Role.HIDDEN_GRADIENT, List.of()).stream()
                .mapToLong(measure)
                .max()
                .orElse(0);
    }

    private void place(List<DeviceTensor> tensors) {
        long at = take(bytes(tensors));
        for (DeviceTensor tensor : tensors) {
            tensor.place(at);
            at += Scratch.aligned(tensor.bytes());
        }
    }

    private static long bytes(List<DeviceTensor> tensors) {
        return tensors.stream().mapToLong(t -> Scratch.aligned(t.bytes())).sum();
    }

    private long take(long bytes) {
        long pointer = device.allocate(bytes);
        device.zero(pointer, bytes);
        return pointer;
    }

    Scratch scratch() {
        return scratch;
    }

    void write(Tensor tensor, double[] values) {
        DeviceTensor to = (DeviceTensor) tensor;
        try (Arena arena = Arena.ofShared()) {
            MemorySegment host = arena.allocate(to.bytes(), 64);
            to.format().encode(scaled(values, to.format(), 1), host);
            device.upload(host, to.pointer());
            device.synchronize();
        }
    }

    double[] read(Tensor tensor) {
        DeviceTensor from = (DeviceTensor) tensor;
        return read(from.pointer(), from.format(), Math.toIntExact(from.size()));
    }

    double[] read(long pointer, Precision format, int count) {
        try (Arena arena = Arena.ofShared()) {
            MemorySegment host = arena.allocate((long) count * format.bytes, 64);
            device.download(pointer, host);
            return scaled(format.decode(host, count), format, -1);
        }
    }

    /** By the power of two of a format of eight bits, or back. */
    private double[] scaled(double[] values, Precision format, int sign) {
        if (format.bytes > 1) {
            return values;
        }
        Role role = format == Precision.E4M3 ? Role.OPERAND : Role.OPERAND_GRADIENT;
        int exponent = sign * Grid.of(role, dims).exponent();
        return Arrays.stream(values).map(x -> Math.scalb(x, exponent)).toArray();
    }

    /**
     * Copies tensors to or from memory at an address, one after the other. The driver knows by an address whether it is
     * the host's or a card's.
     *
     * @param wait whether to wait until they are there, as the host's memory needs
     */
    void carry(List<Tensor> tensors, long at, boolean there, boolean wait) {
        for (Tensor tensor : tensors) {
            DeviceTensor t = (DeviceTensor) tensor;
            device.copy(there ? t.pointer() : at, there ? at : t.pointer(), t.bytes());
            at += t.bytes();
        }
        if (wait) {
            device.synchronize();
        }
    }

    // ------------------------------------------------- counted before any is taken

    /** The bytes of each role, tensors starting at multiples of the alignment, and the engine's own scratch. */
    static Memory memory(Map<Role, List<DeviceTensor>> declared, long scratch) {
        Map<Role, Long> bytes = new EnumMap<>(Role.class);
        declared.forEach((role, tensors) -> bytes.put(role, bytes(tensors)));
        bytes.merge(Role.SCRATCH, scratch, Long::sum);
        return new Memory(bytes);
    }

    /** What to say where memory is short: the table, what is free, and the largest batch that fits. */
    static String refusal(Memory memory, long free, Dims dims, Precision precision, long matrix, long side) {
        int batch = largestBatch(memory, free, dims, precision, matrix, side);
        return memory.table() + "does not fit into the " + free / 1048576 + " MiB that are free on the card; "
                + (batch == 0
                        ? memory.remedy(
                                "not even a batch of 1 does: close what else uses the card, or take a smaller network")
                        : "the largest batch that fits is " + batch + ": use it and accumulate gradients");
    }

    /** Activations, statistics and scratch grow with the batch, the rest does not. 0 where nothing fits. */
    static int largestBatch(Memory memory, long free, Dims dims, Precision precision, long matrix, long side) {
        long own = new Scratch(0, dims, precision, matrix, side).bytes();
        long growing = Stream.of(Role.ACTIVATION, Role.STATISTIC, Role.OPERAND, Role.OPERAND_GRADIENT)
                        .mapToLong(role -> memory.bytes().getOrDefault(role, 0L))
                        .sum()
                + memory.bytes().get(Role.SCRATCH)
                - own;
        long fixed = memory.total() - growing - own;
        for (int B = dims.B() - 1; B > 0; B--) {
            Dims smaller = new Dims(B, dims.T(), dims.C(), dims.D(), dims.V(), dims.G(), dims.F(), dims.W());
            long scratch = new Scratch(0, smaller, precision, matrix, side).bytes();
            if (fixed + scratch + growing / dims.B() * B <= free) {
                return B;
            }
        }
        return 0;
    }
}
