package hypertransfer.lab.answer;

import hypertransfer.core.Refusal;
import hypertransfer.train.log.Curves;
import hypertransfer.train.log.Run;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;

/**
 * Runs side by side. Runs that differ only in their seed are one side; the first side is what the others are compared
 * with.
 *
 * @param differing the settings that are not the same everywhere: for each key, a value per side
 */
public record Sides(List<Side> sides, Map<String, List<String>> differing, List<Difference> differences) {
    /** What may differ within a side. */
    private static final Set<String> OWN = Set.of("seed", "target", "engine", "from.run");

    /**
     * Runs of one configuration.
     *
     * @param validation the last validation loss, mean over seeds
     * @param best the lowest validation loss, mean over seeds
     * @param loss the last training loss, mean over seeds
     */
    public record Side(String name, List<Long> seeds, double validation, double best, double loss) {}

    /**
     * A side minus the first one, at the last validation that both have.
     *
     * @param pairs seeds that both have
     * @param largest the largest absolute difference of training losses, over steps and pairs
     * @param crossover the last validated step at which the other one came out ahead; null where it never changes
     * @param deviation standard deviation of the differences; null for a single pair, like the next three
     * @param low the lower end of the mean's 95% interval
     * @param high its upper end
     * @param p how often noise alone would give such a mean: paired t-test, two-sided
     */
    public record Difference(
            String name,
            int pairs,
            double mean,
            double largest,
            Integer crossover,
            Double deviation,
            Double low,
            Double high,
            Double p) {}

    private record Read(Run run, long seed, Curves curves) {}

    /**
     * Compares all runs at these places, in their order.
     *
     * @param told what could not be read
     */
    public static Sides of(List<Path> places, Consumer<String> told) {
        Map<Map<String, String>, List<Read>> sides = new LinkedHashMap<>();
        for (Path place : places) {
            for (Run run : Run.under(place, told)) {
                Map<String, String> settings = new TreeMap<>(run.settings());
                long seed = Long.parseLong(settings.getOrDefault("seed", "0"));
                settings.keySet().removeAll(OWN);
                List<Read> side = sides.computeIfAbsent(settings, s -> new ArrayList<>());
                Curves curves = Curves.read(run.directory(), told);
                side.stream().filter(r -> r.seed == seed).findFirst().ifPresent(same -> {
                    throw new Refusal(run.directory() + " has the settings and the seed of " + same.run.directory()
                            + "; give only one of them");
                });
                if (curves.validations().isEmpty()) {
                    throw new Refusal(run.directory() + " has no validation loss yet; wait for one, or leave it out");
                }
                side.add(new Read(run, seed, curves));
            }
        }
        if (sides.size() < 2) {
            throw new Refusal("there " + (sides.isEmpty() ? "is no run" : "are runs of one configuration only") + " at "
                    + places + "; give runs of two or more");
        }
        List<List<Read>> all = List.copyOf(sides.values());
        List<String> names = all.stream().map(Sides::name).toList();
        List<Side> summaries = new ArrayList<>();
        List<Difference> differences = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            summaries.add(side(names.get(i), all.get(i)));
            if (i > 0) {
                differences.add(difference(names.get(i), all.getFirst(), all.get(i)));
            }
        }
        return new Sides(summaries, differing(List.copyOf(sides.keySet())), differences);
    }

    /** The directory's name where all seeds share it, else the first's whole path. */
    private static String name(List<Read> side) {
        Path first = side.getFirst().run.directory();
        boolean shared =
                side.stream().allMatch(r -> r.run.directory().getFileName().equals(first.getFileName()));
        return shared ? first.getFileName().toString() : first.toString();
    }

    private static Side side(String name, List<Read> runs) {
        return new Side(
                name,
                runs.stream().map(Read::seed).sorted().toList(),
                mean(runs, r -> last(r.curves.validations())),
                mean(runs, r -> Collections.min(r.curves.validations().values())),
                mean(runs, r -> last(r.curves.losses())));
    }

    private static Map<String, List<String>> differing(List<Map<String, String>> settings) {
        Set<String> keys = new TreeSet<>();
        settings.forEach(s -> keys.addAll(s.keySet()));
        Map<String, List<String>> differing = new LinkedHashMap<>();
        for (String key : keys) {
            List<String> values =
                    settings.stream().map(s -> s.getOrDefault(key, "-")).toList();
            if (values.stream().distinct().count() > 1) {
                differing.put(key, values);
            }
        }
        return differing;
    }

    private static Difference difference(String name, List<Read> first, List<Read> other) {
        List<Double> ends = new ArrayList<>();
        NavigableMap<Integer, Double> curve = new TreeMap<>(); // summed over pairs, at validations that all have
        double largest = 0;
        for (Read a : first) {
            for (Read b : other) {
                if (a.seed == b.seed) {
                    NavigableMap<Integer, Double> apart = minus(b.curves.validations(), a.curves.validations());
                    if (apart.isEmpty()) {
                        throw new Refusal(a.run.directory() + " and " + b.run.directory()
                                + " share no validated step; compare runs with the same validation.every");
                    }
                    if (ends.isEmpty()) {
                        curve.putAll(apart);
                    } else {
                        curve.keySet().retainAll(apart.keySet());
                        curve.replaceAll((step, sum) -> sum + apart.get(step));
                    }
                    ends.add(apart.lastEntry().getValue());
                    for (double d : minus(b.curves.losses(), a.curves.losses()).values()) {
                        largest = Math.max(largest, Math.abs(d));
                    }
                }
            }
        }
        if (ends.isEmpty()) {
            throw new Refusal(name + " has no seed in common with the first side; compare runs of the same seeds");
        }
        int n = ends.size();
        double mean = mean(ends, d -> d);
        Integer crossover = crossover(curve);
        if (n == 1) {
            return new Difference(name, n, mean, largest, crossover, null, null, null, null);
        }
        double squares = ends.stream().mapToDouble(d -> (d - mean) * (d - mean)).sum();
        double deviation = Math.sqrt(squares / (n - 1));
        double error = deviation / Math.sqrt(n);
        double reach = Student.quantile(0.05, n - 1) * error;
        double p = error == 0 ? (mean == 0 ? 1 : 0) : Student.twoSided(mean / error, n - 1);
        return new Difference(name, n, mean, largest, crossover, deviation, mean - reach, mean + reach, p);
    }

    private static NavigableMap<Integer, Double> minus(
            NavigableMap<Integer, Double> from, NavigableMap<Integer, Double> what) {
        NavigableMap<Integer, Double> apart = new TreeMap<>();
        from.forEach((step, value) -> {
            if (what.containsKey(step)) {
                apart.put(step, value - what.get(step));
            }
        });
        return apart;
    }

    private static Integer crossover(NavigableMap<Integer, Double> difference) {
        Integer last = null;
        double before = 0;
        for (Map.Entry<Integer, Double> point : difference.entrySet()) {
            double sign = Math.signum(point.getValue());
            if (sign != 0 && before != 0 && sign != before) {
                last = point.getKey();
            }
            before = sign == 0 ? before : sign;
        }
        return last;
    }

    private static double last(NavigableMap<Integer, Double> curve) {
        return curve.isEmpty() ? Double.NaN : curve.lastEntry().getValue();
    }

    private static <T> double mean(List<T> all, ToDoubleFunction<T> value) {
        return all.stream().mapToDouble(value).average().orElse(Double.NaN);
    }
}
