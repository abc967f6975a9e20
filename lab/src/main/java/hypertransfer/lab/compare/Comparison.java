package hypertransfer.lab.compare;

import hypertransfer.core.Refusal;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
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
import java.util.stream.Stream;
import org.apache.commons.statistics.distribution.TDistribution;

/**
 * Runs side by side. Two runs are two sides; of more runs, those that differ only in their seed are one side. The first side
 * is what the others are compared with.
 *
 * @param differing the settings that are not the same everywhere: for each key, a value per side
 */
record Comparison(List<Side> sides, Map<String, List<String>> differing, List<Difference> differences) {
    /** What may differ within a side. */
    private static final Set<String> OWN = Set.of("seed", "target", "engine", "from.run");

    /**
     * Runs of one configuration.
     *
     * @param validation the last validation loss, mean over seeds
     * @param best the lowest validation loss, mean over seeds
     * @param loss the last training loss, mean over seeds
     */
    record Side(String name, List<Long> seeds, double validation, double best, double loss) {}

    /**
     * A side minus the first one, at the last validation that both have.
     *
     * @param pairs seeds that both have
     * @param largest the largest absolute difference of training losses, over steps and pairs
     * @param first the first step at which a training or validation loss differs in any bit; null where none does
     * @param rates the largest relative difference of effective rates, over steps, matrices and pairs; null where no step
     *     is in both logs
     * @param crossover the last validated step at which the other one came out ahead; null where it never changes
     * @param deviation standard deviation of the differences; null for a single pair, like the next three
     * @param low the lower end of the mean's 95% interval
     * @param high its upper end
     * @param p how often noise alone would give such a mean: paired t-test, two-sided
     */
    record Difference(
            String name,
            int pairs,
            double mean,
            double largest,
            Integer first,
            Double rates,
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
    static Comparison of(List<Path> places, Consumer<String> told) {
        List<Run> runs = places.stream()
                .flatMap(place -> Run.under(place, told).stream())
                .toList();
        List<Map<String, String>> keys = new ArrayList<>();
        List<List<Read>> all = new ArrayList<>();
        for (Run run : runs) {
            Map<String, String> settings = new TreeMap<>(run.settings());
            long seed = Long.parseLong(settings.getOrDefault("seed", "0"));
            settings.keySet().removeAll(OWN);
            int known = runs.size() == 2 ? -1 : keys.indexOf(settings);
            if (known < 0) {
                keys.add(settings);
                all.add(new ArrayList<>());
            }
            List<Read> side = known < 0 ? all.getLast() : all.get(known);
            side.stream().filter(r -> r.seed == seed).findFirst().ifPresent(same -> {
                throw new Refusal(run.directory() + " has the settings and the seed of " + same.run.directory()
                        + "; give only one of them");
            });
            Curves curves = Curves.read(run.directory(), told);
            if (curves.validations().isEmpty()) {
                throw new Refusal(run.directory() + " has no validation loss yet; wait for one, or leave it out");
            }
            side.add(new Read(run, seed, curves));
        }
        if (all.size() < 2) {
            throw new Refusal("there " + (all.isEmpty() ? "is no run" : "are runs of one configuration only") + " at "
                    + places + "; give two runs, or runs of two configurations");
        }
        List<String> names = all.stream().map(Comparison::name).toList();
        List<Side> summaries = new ArrayList<>();
        List<Difference> differences = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            summaries.add(side(names.get(i), all.get(i)));
            if (i > 0) {
                differences.add(difference(names.get(i), all.getFirst(), all.get(i), told));
            }
        }
        return new Comparison(summaries, differing(keys), differences);
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

    private static Difference difference(String name, List<Read> baseline, List<Read> other, Consumer<String> told) {
        List<Double> ends = new ArrayList<>();
        NavigableMap<Integer, Double> curve = new TreeMap<>(); // summed over pairs, at validations that all have
        TreeSet<Integer> unequal = new TreeSet<>();
        double largest = 0, rates = Double.NaN;
        for (Read a : baseline) {
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
                    NavigableMap<Integer, Double> losses = minus(b.curves.losses(), a.curves.losses());
                    for (double d : losses.values()) {
                        largest = Math.max(largest, Math.abs(d));
                    }
                    Stream.of(apart, losses)
                            .flatMap(d -> d.entrySet().stream())
                            .filter(d -> d.getValue() != 0)
                            .forEach(d -> unequal.add(d.getKey()));
                    double rate = rates(b.run, a.run, told);
                    rates = Double.isNaN(rates) ? rate : Math.max(rates, rate);
                }
            }
        }
        if (ends.isEmpty()) {
            throw new Refusal(name + " has no seed in common with the first side; compare runs of the same seeds");
        }
        int n = ends.size();
        double mean = mean(ends, d -> d);
        Integer crossover = crossover(curve);
        Integer first = unequal.isEmpty() ? null : unequal.first();
        Double rate = Double.isNaN(rates) ? null : rates;
        if (n == 1) {
            return new Difference(name, n, mean, largest, first, rate, crossover, null, null, null, null);
        }
        double squares = ends.stream().mapToDouble(d -> (d - mean) * (d - mean)).sum();
        double deviation = Math.sqrt(squares / (n - 1));
        double error = deviation / Math.sqrt(n);
        TDistribution student = TDistribution.of(n - 1);
        double reach = student.inverseSurvivalProbability(0.025) * error;
        double p = error == 0 ? (mean == 0 ? 1 : 0) : 2 * student.survivalProbability(Math.abs(mean) / error);
        return new Difference(name, n, mean, largest, first, rate, crossover, deviation, mean - reach, mean + reach, p);
    }

    private static double rates(Run own, Run other, Consumer<String> told) {
        try {
            return Gap.of(own.directory(), other.directory()).rate();
        } catch (Refusal e) { // losses are compared without them
            told.accept(e.getMessage());
            return Double.NaN;
        }
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
