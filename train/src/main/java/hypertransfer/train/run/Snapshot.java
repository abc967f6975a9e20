package hypertransfer.train.run;

import com.sun.management.OperatingSystemMXBean;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.State;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Tensor;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.SafeTensorsWriter;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Outline;
import hypertransfer.train.optimizer.Matrix;
import hypertransfer.train.ranks.Team;
import java.lang.foreign.MemorySegment;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** A session between memory and checkpoints. */
record Snapshot(Session session) {
    private static final double ROUNDINGS = 1e-12;

    /**
     * A checkpoint on its way to the disk.
     *
     * @param file its tensors
     * @param record its numbers, except the tensors' checksum
     */
    record Saving(Path numbers, SafeTensorsWriter file, Checkpoint record) {
        /** Waits until the checkpoint is there, or throws what kept it from being written. */
        Path finish() {
            record.with(file.finish(), 0).write(numbers);
            return numbers;
        }
    }

    /**
     * Begins a checkpoint of the session as it stands; null at other ranks than 0, which write nothing. The session may
     * continue; the one before must have been finished.
     */
    Saving begin(Run run, int step, Double validation, Origin origin) {
        Checkpoints checkpoints = new Checkpoints(run);
        checkpoints.create();
        Path numbers = checkpoints.numbers(step);
        List<SafeTensorsWriter.Entry> entries = contents().entrySet().stream()
                .map(entry -> entry.getValue().entry(entry.getKey(), session.team()))
                .toList();
        if (session.ranks().rank() > 0) {
            entries.forEach(entry -> entry.source().accept(MemorySegment.NULL)); // to rank 0, which writes
            return null;
        }
        long free =
                ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class).getFreeMemorySize();
        SafeTensorsWriter file = SafeTensorsWriter.begin(Checkpoint.tensorsOf(numbers), entries, Map.of(), free / 2);
        return new Saving(
                numbers, file, new Checkpoint(step, session.optimizer().states(), validation, origin, 0, 0));
    }

    /**
     * A tensor of the file.
     *
     * @param parameter the number of its parameter
     * @param numberBytes the bytes of one number, at whichever rank
     * @param own what this rank has of it, or null
     */
    private record Content(int parameter, int rows, int cols, int numberBytes, Tensor own) {
        SafeTensorsWriter.Entry entry(String name, Team team) {
            return new SafeTensorsWriter.Entry(name, rows, cols, numberBytes, to -> team.whole(own, to));
        }
    }

    /** All tensors that a run continues from, by their names in the file. */
    private Map<String, Content> contents() {
        Map<String, Content> contents = new LinkedHashMap<>();
        List<Outline> all = session.team().share.outlines();
        Map<String, Tensor> masters = new HashMap<>();
        Map<Boolean, Integer> bytes = new HashMap<>(); // of hidden masters and of all others; a rank owns some of both
        session.parameters().own().forEach(p -> {
            masters.put(p.name(), p.master());
            bytes.put(p.hidden(), p.master().numberBytes());
        });
        for (int p = 0; p < all.size(); p++) {
            Outline whole = all.get(p);
            contents.put(
                    whole.name(),
                    new Content(p, whole.rows(), whole.cols(), bytes.get(whole.hidden()), masters.get(whole.name())));
        }
        Map<String, Tensor> memory = session.optimizer().tensors();
        int state = memory.values().iterator().next().numberBytes(); // Adam's of the rest is always there
        session.optimizer()
                .memories()
                .forEach((name, m) ->
                        contents.put(name, new Content(m.parameter(), m.rows(), m.cols(), state, memory.get(name))));
        return contents;
    }

    /** Loads a good checkpoint, once it is known to fit. */
    Checkpoint load(Checkpoint checkpoint, SafeTensors file, Consumer<String> warnings) {
        Map<String, Content> contents = contents();
        contents.forEach((name, content) -> {
            int rows = content.rows(), cols = content.cols();
            int[] shape = rows == 1 ? new int[] {cols} : new int[] {rows, cols};
            if (!Arrays.equals(shape, file.shape(name))) {
                throw new Refusal("the checkpoint of step " + checkpoint.step() + " is of another network: its " + name
                        + " is " + Arrays.toString(file.shape(name)) + ", not " + Arrays.toString(shape));
            }
        });
        String hidden = session.optimizer().matrices().getFirst().whole().name();
        int numberBytes = contents.get(hidden).numberBytes();
        if (file.numberBytes(hidden) != numberBytes) {
            warnings.accept("the checkpoint of step " + checkpoint.step()
                    + (numberBytes == Double.BYTES
                            ? " has float32 masters; they continue as float64 from the same values"
                            : " has float64 masters; they are rounded to float32 here, so the run does not continue with"
                                    + " the same bits (matrices.master=float64 would)"));
        }
        contents.forEach((name, content) -> {
            boolean same = file.numberBytes(name) == content.numberBytes();
            Optional<MemorySegment> bytes = same ? file.bytes(name) : Optional.empty();
            session.team().write(content.parameter(), bytes, () -> file.values(name), content.own());
        });
        session.optimizer().restore(checkpoint.states(), checkpoint.step());
        return checkpoint;
    }

    /**
     * Loads another run's checkpoint and continues from it in a space of one's own: the carrier's radius is the norm it
     * has there, the target keeps the norm it has there. A plain optimizer has one matrix, so it takes the target's. Where
     * the network is evaluated at the radius, that stays what it was, so that the network sees the same bits.
     */
    void continueFrom(Run run, int step, Consumer<String> warnings) {
        Checkpoint c = new Checkpoints(run).at(step, (checkpoint, file) -> load(checkpoint, file, warnings));
        List<State> changed = new ArrayList<>();
        List<Matrix> matrices = session.optimizer().matrices();
        for (int k = 0; k < matrices.size(); k++) {
            State s = c.states().get(k);
            Transfer transfer = matrices.get(k).rule().transfer();
            boolean ball = transfer.carrier() instanceof Space.Hyperball;
            boolean atRadius = transfer.gradient() == GradientRule.AT_RADIUS;
            double wanted = transfer.isPlain() ? s.targetNorm() : atRadius && ball ? s.R() : s.norm();
            boolean there = Math.abs(wanted - s.norm()) <= ROUNDINGS * wanted; // a proxy norm of its own matrix
            double norm = there ? s.norm() : wanted;
            if (!there) {
                session.optimizer().scale(s.matrix(), norm / s.norm());
            }
            double radius = atRadius && !ball ? s.R() : norm;
            changed.add(new State(s.matrix(), s.step(), radius, norm, s.targetNorm()));
        }
        session.optimizer().restore(changed, step);
    }
}
