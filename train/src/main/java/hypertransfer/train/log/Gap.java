package hypertransfer.train.log;

import java.nio.file.Path;
import java.util.Locale;
import java.util.function.BiConsumer;
import java.util.function.ObjDoubleConsumer;

/**
 * A run beside the one it follows, over the steps that both have logged. Nothing compared is NaN, never zero.
 *
 * @param logged the common steps of {@code matrices.jsonl}
 * @param norm the largest relative error of the target's norm, over all hidden matrices and common steps
 * @param rate that of the effective rate
 */
public record Gap(Loss training, Loss validation, int logged, double norm, double rate) {
    /**
     * The difference of a loss.
     *
     * @param steps how many steps both runs have
     * @param last the run's loss minus the target's, at the last of them
     * @param largest the largest absolute difference
     */
    public record Loss(int steps, double last, double largest) {
        static final Loss NONE = new Loss(0, Double.NaN, Double.NaN);

        /** Two runs are equal at one common step, their first, whatever they do later: that is no gap of zero. */
        Loss known() {
            return steps == 1 && last == 0 ? new Loss(1, Double.NaN, Double.NaN) : this;
        }

        private String text() {
            return String.format(Locale.ROOT, "final %+.2e   largest %.2e", last, largest);
        }

        Loss and(double difference) {
            return new Loss(
                    steps + 1, difference, steps == 0 ? Math.abs(difference) : Math.max(largest, Math.abs(difference)));
        }
    }

    /** A run and the one it follows, read side by side as far as both are written; each reading continues the last one. */
    public static final class Pair {
        private final Run run;
        private final Run target;
        private Loss training;
        private Loss validation;
        private int logged;
        private double norm;
        private double carried; // the same with the norm of the target's own matrices
        private double rate;
        private Merge losses;
        private Merge moved;

        public Pair(Run run, Run target) {
            this.run = run;
            this.target = target;
            begin();
        }

        private void begin() {
            training = validation = Loss.NONE;
            logged = 0;
            norm = carried = rate = 0;
            losses = new Merge(run.metrics(), target.metrics());
            moved = null;
        }

        public Gap read() {
            return read((own, difference) -> {});
        }

        /** The gap so far; hands over the run's own line and its loss minus the target's, of all that this reading adds. */
        public Gap read(ObjDoubleConsumer<Line> each) {
            if (losses.cut() || moved != null && moved.cut()) {
                begin();
            }
            if (moved == null) {
                moved = new Merge(run.matrices(), target.matrices());
            }
            readLosses(each);
            moved.read((own, other) -> {
                // What the follower's target should be, against what it is in the run that has it as its own target.
                Line.Matrices a = (Line.Matrices) own, b = (Line.Matrices) other;
                norm = larger(norm, a.targetNorm(), b.targetNorm());
                carried = larger(
                        carried, a.targetNorm(), b.norm()); // as of a fair run, whose Base matrices are the target
                rate = larger(rate, a.effective(), b.effective());
                logged++;
            });
            return new Gap(
                    training.known(),
                    validation.known(),
                    logged,
                    logged == 0 ? Double.NaN : Math.min(norm, carried),
                    logged == 0 ? Double.NaN : rate);
        }

        private void readLosses(ObjDoubleConsumer<Line> each) {
            losses.read((own, other) -> {
                double difference = own.loss() - other.loss();
                if (own instanceof Line.Training) {
                    training = training.and(difference);
                } else {
                    validation = validation.and(difference);
                }
                each.accept(own, difference);
            });
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
        private static final class Merge {
            private final Tail own;
            private final Tail other;
            private Line a;
            private Line b;

            Merge(Tail own, Tail other) {
                this.own = own;
                this.other = other;
            }

            boolean cut() {
                return own.cut() || other.cut();
            }

            /** Hands over the lines of one step that are in both. */
            void read(BiConsumer<Line, Line> both) {
                while (true) {
                    a = a == null ? own.next() : a;
                    b = b == null ? other.next() : b;
                    if (a == null || b == null) {
                        return;
                    }
                    int order = Long.compare(a.place(), b.place());
                    if (order == 0) {
                        both.accept(a, b);
                    }
                    a = order <= 0 ? null : a;
                    b = order >= 0 ? null : b;
                }
            }
        }
    }

    /** Compares all that both have logged. */
    public static Gap of(Path run, Path target) {
        return new Pair(new Run(run), new Run(target)).read();
    }

    /** The gap of the validation losses only: {@code matrices.jsonl}, which is longer, stays unread. */
    public static Loss validation(Run run, Run target) {
        Pair pair = new Pair(run, target);
        pair.readLosses((own, difference) -> {});
        return pair.validation.known();
    }

    /** @param steps the steps that the run has */
    public String table(int steps) {
        if (training.steps == 0) {
            return "gap to the target: nothing to compare, the two runs have no logged step in common\n";
        }
        if (Double.isNaN(training.largest)) {
            return "gap to the target: only one of " + steps + " steps has a target, which is too few to compare\n";
        }
        String validated = validation.steps == 0
                ? "no validation in common"
                : Double.isNaN(validation.largest)
                        ? "only the first validation in common"
                        : validation.text() + "   over " + validation.steps + " validations";
        return "gap to the target: " + training.steps + " of " + steps + " steps have a target\n"
                + "  training loss      " + training.text() + "\n"
                + "  validation loss    " + validated + "\n"
                + "  target norm        " + error(norm) + "\n"
                + "  effective rate     " + error(rate) + "\n";
    }

    private String error(double error) {
        return logged == 0
                ? "no logged step in common"
                : String.format(Locale.ROOT, "largest relative error %.2e   over %d logged steps", error, logged);
    }
}
