package hypertransfer.train.tensorboard;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.TargetLosses;
import hypertransfer.train.optimizer.Matrix;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A run's lines as TensorBoard shows them: losses, rates, throughput, the gap to a target, and means per kind of matrix. */
public final class Scalars implements AutoCloseable {
    /** TensorBoard shows a thousand points of a curve; 400,000 steps made a file of 798 MB. */
    private static final int POINTS = 10_000;

    private final Events events;
    private final int every; // steps from point to point
    private final int last;
    private final long tokensPerStep;
    private final Map<String, List<Integer>> kinds = new LinkedHashMap<>(); // the numbers of each kind's matrices
    private final TargetLosses target;

    public Scalars(Run run, Configuration c, List<Matrix> matrices, int step) {
        events = new Events(run.directory(), step);
        last = c.steps() - 1;
        every = Math.max(1, c.steps() / POINTS);
        tokensPerStep = c.tokensPerStep();
        for (int k = 0; k < matrices.size(); k++) {
            kinds.computeIfAbsent(matrices.get(k).whole().kind().path(), none -> new ArrayList<>())
                    .add(k);
        }
        target = new TargetLosses(run.named(c.target()));
    }

    public void add(Line line) {
        int step = line.step();
        if (!(line instanceof Line.Validation) && step % every != 0 && step != last) {
            return;
        }
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
                target.gap(t).ifPresent(gap -> events.scalar(step, "gap/train", gap));
            }
            case Line.Validation v -> {
                events.scalar(step, "loss/validation", v.loss());
                if (!Double.isNaN(v.represented())) {
                    events.scalar(step, "loss/carrier_minus_represented", v.carrier() - v.represented());
                }
                target.gap(v).ifPresent(gap -> events.scalar(step, "gap/validation", gap));
            }
            case Line.Matrices m -> {
                kinds.forEach((kind, members) -> {
                    events.scalar(step, "norm/" + kind, mean(m.norm(), members));
                    events.scalar(step, "target_norm/" + kind, mean(m.targetNorm(), members));
                    events.scalar(step, "nominal_rate/" + kind, mean(m.rate(), members));
                    events.scalar(step, "effective_rate/" + kind, mean(m.effective(), members));
                    events.scalar(step, "implied_decay/" + kind, mean(m.impliedDecay(), members));
                    double radial = largest(m.radial(), members);
                    if (!Double.isNaN(radial)) {
                        events.scalar(step, "radial/" + kind, radial);
                    }
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

    @Override
    public void close() {
        events.close();
    }
}
