package hypertransfer.train.run;

import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Tail;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A run's lines as TensorBoard shows them: losses, rates, throughput, the gap to a target, and means per kind of matrix. */
final class Scalars implements AutoCloseable {
    private final Events events;
    private final long tokensPerStep;
    private final Map<String, List<Integer>> kinds = new LinkedHashMap<>(); // blocks.3.attn.q.weight is an attn.q
    private Tail target; // null where the run follows none
    private Line theirs; // the target's line that was read last

    Scalars(Run run, int step, long tokensPerStep) {
        events = new Events(run.directory(), step);
        this.tokensPerStep = tokensPerStep;
        List<String> matrices = run.provenance().matrices();
        for (int k = 0; k < matrices.size(); k++) {
            String kind = matrices.get(k).replaceFirst("^blocks\\.\\d+\\.(.*)\\.weight$", "$1");
            kinds.computeIfAbsent(kind, none -> new ArrayList<>()).add(k);
        }
        target = run.target().map(Run::metrics).orElse(null);
    }

    void add(Line line) {
        int step = line.step();
        switch (line) {
            case Line.Training t -> {
                events.scalar(step, "loss/train", t.loss());
                events.scalar(step, "rate/matrices", t.rate());
                events.scalar(step, "rate/adamw", t.adamRate());
                events.scalar(step, "throughput/tokens_per_second", tokensPerStep / t.seconds());
                if (!Double.isNaN(t.kept())) {
                    events.scalar(step, "clip/gradient_norm", t.gradientNorm());
                    events.scalar(step, "clip/kept", t.kept());
                }
                if (counterpart(line) instanceof Line.Training other) {
                    events.scalar(step, "gap/train", t.loss() - other.loss());
                }
            }
            case Line.Validation v -> {
                events.scalar(step, "loss/validation", v.loss());
                if (!Double.isNaN(v.represented())) {
                    events.scalar(step, "loss/carrier_minus_represented", v.carrier() - v.represented());
                }
                if (counterpart(line) instanceof Line.Validation other) {
                    events.scalar(step, "gap/validation", v.loss() - other.loss());
                }
            }
            case Line.Matrices m -> {
                kinds.forEach((kind, members) -> {
                    events.scalar(step, "norm/" + kind, mean(m.norm(), members));
                    events.scalar(step, "target_norm/" + kind, mean(m.targetNorm(), members));
                    events.scalar(step, "nominal_rate/" + kind, mean(m.rate(), members));
                    events.scalar(step, "effective_rate/" + kind, mean(m.effective(), members));
                    events.scalar(step, "implied_decay/" + kind, mean(m.impliedDecay(), members));
                    events.scalar(step, "radial/" + kind, largest(m.radial(), members));
                });
            }
        }
        events.flush();
    }

    /** Without sign: one matrix whose scale matters is enough to make a rescaled gradient wrong. */
    private static double largest(double[] values, List<Integer> members) {
        return members.stream().mapToDouble(k -> Math.abs(values[k])).max().orElseThrow();
    }

    private static double mean(double[] values, List<Integer> members) {
        return members.stream().mapToDouble(k -> values[k]).average().orElseThrow();
    }

    /** The target's line of the same step and kind; null where it has none, or not yet. */
    private Line counterpart(Line own) {
        try {
            while (target != null && (theirs == null || place(theirs) < place(own))) {
                Line next = target.next();
                if (next == null) {
                    return null;
                }
                theirs = next;
            }
        } catch (UncheckedIOException e) { // a target that cannot be read any more must not end the run
            target = null;
        }
        return target != null && place(theirs) == place(own) ? theirs : null;
    }

    /** A step's validation is written before the step itself. */
    private static long place(Line line) {
        return 2L * line.step() + (line instanceof Line.Training ? 1 : 0);
    }

    @Override
    public void close() {
        events.close();
    }
}
