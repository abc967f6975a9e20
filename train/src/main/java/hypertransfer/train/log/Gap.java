package hypertransfer.train.log;

import java.nio.file.Path;
import java.util.Locale;
import java.util.OptionalDouble;

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

        Loss and(double difference) {
            return new Loss(
                    steps + 1, difference, steps == 0 ? Math.abs(difference) : Math.max(largest, Math.abs(difference)));
        }
    }

    /** Compares all that both have logged. */
    public static Gap of(Path run, Path target) {
        return new Pair(new Run(run), new Run(target)).read();
    }

    /**
     * The run's validation loss minus the target's at the last step that both have; empty where there is none, or where
     * their only common one is the same. Both files are read from their ends.
     */
    public static OptionalDouble validation(Run run, Run target) {
        double difference = Double.NaN;
        for (long before = Long.MAX_VALUE; ; ) {
            Line.Validation own =
                    run.metrics().last(Line.Validation.class, before).orElse(null);
            Line.Validation other = own == null
                    ? null
                    : target.metrics()
                            .last(Line.Validation.class, own.step() + 1L)
                            .orElse(null);
            if (other == null) {
                return OptionalDouble.empty();
            }
            if (own.step() == other.step()) {
                if (difference == 0 || own.loss() != other.loss()) {
                    return OptionalDouble.of(difference == 0 ? 0 : own.loss() - other.loss());
                }
                difference = 0; // known only if there is a second one
            }
            before = own.step() == other.step() ? own.step() : other.step() + 1L;
        }
    }

    /** @param steps the steps that the run has */
    public String table(int steps) {
        if (training.steps == 0) {
            return "gap to the target: nothing to compare, the two runs have no logged step in common\n";
        }
        if (Double.isNaN(training.largest)) {
            return "gap to the target: one of " + steps + " steps has a target, which says nothing\n";
        }
        return String.format(
                Locale.ROOT,
                """
                gap to the target: %d of %d steps have a target
                  training loss      final %+.2e   largest %.2e
                  validation loss    %s
                  target norm        %s
                  effective rate     %s
                """,
                training.steps,
                steps,
                training.last,
                training.largest,
                Double.isNaN(validation.largest)
                        ? validation.steps == 0 ? "no validation in common" : "only the first validation in common"
                        : String.format(
                                Locale.ROOT,
                                "final %+.2e   largest %.2e   over %d validations",
                                validation.last,
                                validation.largest,
                                validation.steps),
                error(norm),
                error(rate));
    }

    private String error(double error) {
        return logged == 0
                ? "no logged step in common"
                : String.format(Locale.ROOT, "largest relative error %.2e   over %d logged steps", error, logged);
    }
}
