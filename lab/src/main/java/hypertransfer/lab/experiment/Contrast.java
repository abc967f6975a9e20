package hypertransfer.lab.experiment;

import hypertransfer.train.log.Gap;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/** How far the optimizers of an experiment are from each other, and how near each transfer is to its target. */
final class Contrast {
    private final Map<String, Double> leads = new LinkedHashMap<>();
    private double largest = Double.NaN; // gap of any follower's training or validation loss

    void lead(String run, double validation) {
        if (Double.isFinite(validation)) {
            leads.put(run, validation);
        }
    }

    void follower(Gap gap) {
        double both = Math.max(gap.training().largest(), gap.validation().largest());
        largest = Double.isNaN(largest) ? both : Math.max(largest, both);
    }

    /** Nothing where there is no follower to speak of. */
    Optional<String> sentence() {
        if (Double.isNaN(largest)) {
            return Optional.empty();
        }
        double low = leads.values().stream().mapToDouble(v -> v).min().orElse(Double.NaN);
        double apart = leads.values().stream().mapToDouble(v -> v).max().orElse(Double.NaN) - low;
        String ends = leads.size() < 2
                ? ""
                : String.format(Locale.ROOT, "%s end %.2g apart; ", String.join(" and ", leads.keySet()), apart);
        String near = largest == 0
                ? "every transfer has all losses of its target, to the last bit"
                : String.format(Locale.ROOT, "every transfer is within %.1e of its target at every step", largest);
        String closer = largest > 0 && apart >= 2 * largest
                ? String.format(Locale.ROOT, ", %,.0f times closer", apart / largest)
                : "";
        return Optional.of(ends + near + closer);
    }
}
