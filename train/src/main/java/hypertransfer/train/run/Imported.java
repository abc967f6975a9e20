package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.engine.Engine;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.log.Provenance;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.network.Dialect;
import hypertransfer.train.network.Foreign;
import hypertransfer.train.network.Parameter;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Weights of another program, read into a run that stands before its first step. */
public record Imported(Map<String, double[]> weights) {
    /** Reads a file whose names and shapes must be those of the configured network. */
    public static Imported read(Path file, Dialect dialect, Configuration c) {
        dialect.require(c.architecture());
        Map<String, double[]> weights = new LinkedHashMap<>();
        try (SafeTensors tensors = SafeTensors.read(file)) {
            List<Foreign> expected = dialect.tensors(c.architecture());
            String first = expected.getFirst().name();
            String prefix = dialect.prefixes.stream()
                    .filter(p -> tensors.names().contains(p + first))
                    .findFirst()
                    .orElseThrow(() -> new Refusal(file + " has no tensor "
                            + dialect.prefixes.getFirst() + first + ", which every file of the format "
                            + dialect.label() + " has; name its --format"));
            Set<String> left = new HashSet<>(tensors.names());
            left.removeIf(dialect::ignores);
            for (Foreign foreign : expected) {
                String name = dialect.name(foreign, prefix);
                if (left.remove(name)) {
                    weights.putAll(foreign.ours(values(file, tensors, name, foreign)));
                } else if (!foreign.parts().isEmpty()) {
                    throw new Refusal(file + " has no tensor " + name
                            + (name.equals(dialect.head()) ? "; set model.tied to true" : "; see model.layers"));
                }
            }
            if (left.remove(dialect.head())
                    && !Arrays.equals(tensors.values(dialect.head()), weights.get("embed.weight"))) {
                throw new Refusal(
                        file + " has a " + dialect.head() + " other than its embedding; set model.tied to false");
            }
            if (!left.isEmpty()) {
                throw new Refusal(file + " has the tensor "
                        + Collections.min(left)
                        + ", for which this network has no place; see model.layers and the keys of the network");
            }
        }
        return new Imported(weights);
    }

    private static double[] values(Path file, SafeTensors tensors, String name, Foreign foreign) {
        int[] shape = tensors.shape(name);
        int[] expected = foreign.rows() == 1 ? new int[] {foreign.cols()} : new int[] {foreign.rows(), foreign.cols()};
        if (foreign.form() != Foreign.Form.ZEROS && !Arrays.equals(shape, expected)) {
            throw new Refusal(file + ": " + name + " is " + Arrays.toString(shape) + ", and the network of the"
                    + " configuration has " + Arrays.toString(expected) + " there; change the keys of model");
        }
        if (tensors.integers(name)) {
            throw new Refusal(file + ": " + name + " holds whole numbers, which are no weights; take another file");
        }
        double[] values = tensors.values(name);
        for (double value : values) {
            if (!Double.isFinite(value)) {
                throw new Refusal(
                        file + ": " + name + " holds " + value + ", which is not a weight; take another checkpoint");
            }
        }
        return values;
    }

    /** Writes the checkpoint of a new run before its first step. */
    public void write(RunLock lock, Configuration c, Map<String, String> provenance) {
        try (Feed feed = Feed.open(c);
                Session session = Session.open(c)) {
            Engine engine = session.engine();
            for (Parameter own : session.parameters().own()) { // one process owns every parameter whole
                engine.write(own.master(), weights.get(own.name()));
            }
            session.optimizer().start();
            session.requireFinite(0);
            new Snapshot(session)
                    .begin(lock.run(), 0, null, Origin.of(c, session, feed))
                    .finish();
            Map<String, String> facts = new LinkedHashMap<>(provenance);
            facts.put("engine", engine.name());
            lock.provenance(new Provenance(facts, session.rules()));
            lock.status(new RunStatus(RunStatus.State.INTERRUPTED, 0, c.steps(), Double.NaN, Double.NaN, null, null));
        }
    }
}
