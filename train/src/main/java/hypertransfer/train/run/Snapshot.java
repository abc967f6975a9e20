package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.engine.Tensor;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.SafeTensorsWriter;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Parameter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A trainee between memory and checkpoints. */
record Snapshot(Trainee trainee) {

    /** Writes a checkpoint of the trainee as it stands. */
    Path save(Run run, int step, Double validation, Origin origin) {
        Checkpoints checkpoints = new Checkpoints(run);
        checkpoints.create();
        Path numbers = checkpoints.numbers(step);
        List<SafeTensorsWriter.Entry> entries = new ArrayList<>();
        contents()
                .forEach((key, tensor) -> entries.add(new SafeTensorsWriter.Entry(
                        key,
                        tensor.rows(),
                        tensor.cols(),
                        tensor.numberBytes(),
                        () -> trainee.engine().read(tensor))));
        long crc = SafeTensorsWriter.write(Checkpoint.tensorsOf(numbers), entries, Map.of());
        new Checkpoint(step, trainee.optimizer().states(), validation, origin, crc, 0).write(numbers);
        return numbers;
    }

    /** All tensors that a run continues from, by their names in the file. */
    private Map<String, Tensor> contents() {
        Map<String, Tensor> contents = new LinkedHashMap<>();
        for (Parameter p : trainee.parameters().all()) {
            contents.put(p.name(), p.master());
        }
        trainee.optimizer().tensors().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .forEach(entry -> contents.put(entry.getKey(), entry.getValue()));
        return contents;
    }

    /** Loads a good checkpoint, once it is known to fit. */
    Checkpoint load(Checkpoint checkpoint, SafeTensors file) {
        Map<String, Tensor> contents = contents();
        contents.forEach((name, t) -> {
            int[] shape = t.rows() == 1 ? new int[] {t.cols()} : new int[] {t.rows(), t.cols()};
            if (!Arrays.equals(shape, file.shape(name))) {
                throw new Refusal("the checkpoint of step " + checkpoint.step() + " is of another network: its " + name
                        + " is " + Arrays.toString(file.shape(name)) + ", not " + Arrays.toString(shape));
            }
        });
        contents.forEach((name, tensor) -> trainee.engine().write(tensor, file.values(name)));
        trainee.optimizer().restore(checkpoint.states(), checkpoint.step());
        return checkpoint;
    }

    /**
     * Loads another run's checkpoint and continues from it in a space of one's own: the carrier's radius is the norm it
     * has there, the target keeps the norm it has there. A plain optimizer has one matrix, so it takes the target's.
     *
     * @return the steps taken
     */
    int change(Run run, int step) {
        Path numbers = new Checkpoints(run).numbers(step);
        List<Path> all = run.checkpoints();
        if (!all.contains(numbers)) {
            throw new Refusal(run.directory() + " has no checkpoint of step " + step + "; it has those of "
                    + all.stream().map(Run::step).toList()
                    + ". Train it again with checkpoint.every and checkpoint.keep set to save and keep that step");
        }
        Checkpoint c = Checkpoint.read(numbers);
        try (SafeTensors file = c.open(numbers)) {
            load(c, file);
        }
        List<State> changed = new ArrayList<>();
        for (State s : c.states()) {
            boolean plain = trainee.plain(s.matrix());
            if (plain && s.norm() != s.targetNorm()) {
                trainee.scale(s.matrix(), s.targetNorm() / s.norm());
            }
            double norm = plain ? s.targetNorm() : s.norm();
            changed.add(new State(s.matrix(), s.step(), norm, norm, s.targetNorm()));
        }
        trainee.optimizer().restore(changed, step);
        return step;
    }
}
