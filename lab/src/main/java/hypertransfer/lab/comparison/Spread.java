package hypertransfer.lab.comparison;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Final validation losses over several seeds, so that a difference can be told from noise. */
public final class Spread {
    private final Map<String, List<Double>> losses = new LinkedHashMap<>();

    /** Adds one seed's losses, by the names of the runs. */
    public void add(Map<String, Double> validations) {
        validations.forEach((run, loss) ->
                losses.computeIfAbsent(run, r -> new ArrayList<>()).add(loss));
    }

    /** Mean and standard deviation per run. */
    public String table() {
        int seeds = losses.values().stream().mapToInt(List::size).max().orElse(0);
        StringBuilder table = new StringBuilder(
                "%n%-32s %12s %12s   over %d seeds%n".formatted("run", "validation", "deviation", seeds));
        losses.forEach((run, all) -> {
            double mean = all.stream().mapToDouble(l -> l).average().orElseThrow();
            double squares =
                    all.stream().mapToDouble(l -> (l - mean) * (l - mean)).sum();
            table.append(String.format(
                    Locale.ROOT, "%-32s %12.5f %12.5f%n", run, mean, Math.sqrt(squares / (all.size() - 1))));
        });
        return table.toString();
    }
}
