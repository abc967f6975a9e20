package hypertransfer.train.log;

import java.util.function.BiConsumer;

/** A run and the one it follows, read side by side as far as both are written; each reading continues the last one. */
public final class Pair {
    private final Run run;
    private final Run target;
    private Gap.Loss training;
    private Gap.Loss validation;
    private int logged;
    private double norm;
    private double rate;
    private Merge<Line.Training> trained;
    private Merge<Line.Validation> validated;
    private Merge<Line.Matrices> moved;

    public Pair(Run run, Run target) {
        this.run = run;
        this.target = target;
        begin();
    }

    private void begin() {
        training = validation = Gap.Loss.NONE;
        logged = 0;
        norm = rate = 0;
        trained = new Merge<>(Line.Training.class, run.metrics(), target.metrics());
        validated = new Merge<>(Line.Validation.class, run.metrics(), target.metrics());
        moved = null;
    }

    /** The run's loss minus the target's, with the run's own line. */
    public interface Each {
        void difference(Line own, double difference);
    }

    /** The gap so far. */
    public Gap read() {
        return read((own, difference) -> {});
    }

    /** The gap so far; hands over every difference of losses that this reading adds. */
    public Gap read(Each each) {
        if (trained.cut() || validated.cut() || moved != null && moved.cut()) {
            begin();
        }
        if (moved == null) {
            moved = new Merge<>(Line.Matrices.class, run.matrices(), target.matrices());
        }
        trained.read((own, other) -> {
            double difference = own.loss() - other.loss();
            training = training.and(difference);
            each.difference(own, difference);
        });
        validated.read((own, other) -> {
            double difference = own.loss() - other.loss();
            validation = validation.and(difference);
            each.difference(own, difference);
        });
        moved.read((own, other) -> {
            // What the follower's target should be, against what it is in the run that has it as its own target.
            norm = larger(norm, own.targetNorm(), other.targetNorm());
            rate = larger(rate, own.effective(), other.effective());
            logged++;
        });
        return new Gap(
                training.known(),
                validation.known(),
                logged,
                logged == 0 ? Double.NaN : norm,
                logged == 0 ? Double.NaN : rate);
    }

    private static double larger(double largest, double[] own, double[] other) {
        double most = largest;
        for (int k = 0; k < Math.min(own.length, other.length); k++) {
            if (other[k] != 0) {
                most = Math.max(most, Math.abs(own[k] - other[k]) / Math.abs(other[k]));
            }
        }
        return most;
    }

    /** Two files in the order of their steps. */
    private static final class Merge<L extends Line> {
        private final Class<L> kind;
        private final Tail own;
        private final Tail other;
        private L a;
        private L b;

        Merge(Class<L> kind, Tail own, Tail other) {
            this.kind = kind;
            this.own = own;
            this.other = other;
        }

        boolean cut() {
            return own.cut() || other.cut();
        }

        /** Hands over the lines of one step that are in both. */
        void read(BiConsumer<L, L> both) {
            while (true) {
                a = a == null ? own.lines(kind).findFirst().orElse(null) : a;
                b = b == null ? other.lines(kind).findFirst().orElse(null) : b;
                if (a == null || b == null) {
                    return;
                }
                int order = Integer.compare(a.step(), b.step());
                if (order == 0) {
                    both.accept(a, b);
                }
                a = order <= 0 ? null : a;
                b = order >= 0 ? null : b;
            }
        }
    }
}
