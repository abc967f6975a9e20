package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Role;
import hypertransfer.engine.cuda.kernel.DeviceTensor;
import hypertransfer.engine.cuda.kernel.Precision;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** Counts memory before any is taken. */
final class Planner {
    private Planner() {}

    /** The bytes of each role, tensors starting at multiples of the alignment, and the engine's own scratch. */
    static Memory memory(Map<Role, List<DeviceTensor>> declared, long scratch) {
        Map<Role, Long> bytes = new EnumMap<>(Role.class);
        declared.forEach((role, tensors) -> bytes.put(
                role,
                tensors.stream().mapToLong(b -> Scratch.aligned(b.bytes())).sum()));
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
        long growing = memory.bytes().getOrDefault(Role.ACTIVATION, 0L)
                + memory.bytes().getOrDefault(Role.STATISTIC, 0L)
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
