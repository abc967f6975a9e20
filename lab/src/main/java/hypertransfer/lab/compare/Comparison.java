package hypertransfer.lab.compare;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
import hypertransfer.train.log.Turning;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.commons.statistics.distribution.TDistribution;

/**
 * Runs side by side. Two runs are two sides; of more runs, those that differ only in their seed are one side. The first side
 * is what the others are compared with; these are ranked by their validation losses.
 *
 * @param differing the settings that are not the same everywhere: for each key, a value per side
 */
record Comparison(
        List<Side> sides, Map<String, List<String>> differing, List<Difference> differences, List<Search> searches) {
    /** What may differ within a side. */
    private static final Set<String> OWN = Set.of("seed", "target", "engine", "from.run");

    /**
     * Runs of one configuration.
     *
     * @param run the directory of the first
     * @param validation the last validation loss, mean over seeds
     * @param best the lowest validation loss, mean over seeds
     * @param loss the last training loss, mean over seeds
     * @param peak the largest effective rate, mean over seeds, like the next two; NaN where none is logged
     * @param mean the mean effective rate
     * @param endToPeak the last effective rate over the largest
     * @param sameTokens the validation loss when the side with the fewest tokens had read its last, mean over seeds
     * @param sameTime the validation loss when the fastest side was done, by the seconds of steps, mean over seeds
     */
    record Side(
            String name,
            String run,
            List<Long> seeds,
            double validation,
            double best,
            double loss,
            double peak,
            double mean,
            double endToPeak,
            double sameTokens,
            double sameTime) {}

    /**
     * What a search of equal size would have found with one optimizer.
     *
     * @param optimizer direction and mode
     * @param trials configurations that were trained
     * @param best the lowest validation loss of them
     * @param expected the lowest of as many of them as every optimizer has, mean over all choices
     */
    record Search(String optimizer, int trials, double best, double expected) {}

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
     * @param holm the same, corrected for the number of such tests by Holm's method
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
            Double p,
            Double holm) {

        private Difference corrected(double value) {
            return new Difference(name, pairs, mean, largest, first, rates, crossover, deviation, low, high, p, value);
        }
    }

    /** @param spent tokens and seconds until a step */
    private record Read(Run run, long seed, Curves curves, Turning turning, NavigableMap<Integer, double[]> spent) {
        static Read of(Run run, long seed, Consumer<String> told) {
            Curves curves = Curves.read(run.directory(), told);
            if (curves.validations().isEmpty()) {
                throw new Refusal(run.directory() + " has no validation loss yet; wait for one, or leave it out");
            }
            NavigableMap<Integer, double[]> spent = new TreeMap<>();
            run.metrics().lines(Line.Training.class).forEach(line -> {
                double before = spent.isEmpty() ? 0 : spent.lastEntry().getValue()[1];
                spent.put(line.step() + 1, new double[] {line.tokens(), before + line.seconds()});
            });
            return new Read(run, seed, curves, Turning.of(run), spent);
        }

        /** @param what 0: tokens; 1: seconds */
        double all(int what) {
            return spent.isEmpty() ? 0 : spent.lastEntry().getValue()[what];
        }

        /** The last validation loss before more than this was spent. */
        double within(int what, double most) {
            double last = Double.NaN;
            for (Map.Entry<Integer, Double> validated : curves.validations().entrySet()) {
                Map.Entry<Integer, double[]> until = spent.floorEntry(validated.getKey());
                if (until == null || until.getValue()[what] <= most) {
                    last = validated.getValue();
                }
            }
            return last;
        }
    }

    /**
     * Compares all runs at these places.
     *
     * @param baseline the name or a directory of the side that is compared with; null for the first
     * @param told what could not be read
     */
    static Comparison of(List<Path> places, String baseline, Consumer<String> told) {
        List<Run> runs = places.stream()
                .flatMap(place -> Run.under(place, told).stream())
                .toList();
        List<Map<String, String>> keys = new ArrayList<>();
        List<List<Read>> all = new ArrayList<>();
        for (Run run : runs) {
            Map<String, String> settings = new TreeMap<>(run.settings());
            long seed = Long.parseLong(settings.getOrDefault("seed", "0"));
            settings.keySet()
                    .removeIf(key -> OWN.contains(key) || key.startsWith("ranks.") || ConfigurationFile.gone(key));
            settings.computeIfPresent(
                    "matrices.recorded", (key, path) -> path.replaceAll("seed-\\d+", "seed")); // ht fair
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
            side.add(Read.of(run, seed, told));
        }
        if (all.size() < 2) {
            throw new Refusal("there " + (all.isEmpty() ? "is no run" : "are runs of one configuration only") + " at "
                    + places + "; give two runs, or runs of two configurations");
        }
        List<String> names = names(all, keys);
        int first = baseline(names, all, baseline);
        double tokens = least(all, 0), seconds = least(all, 1);
        List<Side> summaries = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            summaries.add(side(names.get(i), all.get(i), tokens, seconds));
        }
        List<Integer> order = IntStream.range(0, all.size())
                .boxed()
                .sorted(Comparator.<Integer, Boolean>comparing(i -> i != first)
                        .thenComparing(i -> summaries.get(i).validation))
                .toList();
        List<Difference> differences = order.stream()
                .skip(1)
                .map(i -> difference(names.get(i), all.get(first), all.get(i), told))
                .toList();
        return new Comparison(
                order.stream().map(summaries::get).toList(),
                differing(order.stream().map(keys::get).toList()),
                holm(differences),
                searches(keys, summaries));
    }

    private static double least(List<List<Read>> all, int what) {
        return all.stream()
                .flatMap(List::stream)
                .mapToDouble(r -> r.all(what))
                .min()
                .orElseThrow();
    }

    private static int baseline(List<String> names, List<List<Read>> all, String asked) {
        if (asked == null) {
            return 0;
        }
        for (int i = 0; i < names.size(); i++) {
            if (names.get(i).equals(asked)
                    || all.get(i).stream().anyMatch(r -> r.run.directory().equals(Path.of(asked)))) {
                return i;
            }
        }
        throw new Refusal("--baseline is " + asked + "; the sides are " + String.join(", ", names));
    }

    /** Holm's step-down method: the smallest p counts as many times as there are tests, the next once less, and so on. */
    private static List<Difference> holm(List<Difference> differences) {
        List<Difference> tested = differences.stream()
                .filter(d -> d.p != null)
                .sorted(Comparator.comparing(Difference::p))
                .toList();
        Map<String, Double> corrected = new HashMap<>();
        double reached = 0;
        for (int i = 0; i < tested.size(); i++) {
            reached = Math.max(reached, Math.min(1, (tested.size() - i) * tested.get(i).p));
            corrected.put(tested.get(i).name, reached);
        }
        return differences.stream()
                .map(d -> d.p == null ? d : d.corrected(corrected.get(d.name)))
                .toList();
    }

    /** Where optimizers were searched: direction and mode, each with several configurations. */
    private static List<Search> searches(List<Map<String, String>> keys, List<Side> sides) {
        Map<String, List<Double>> losses = new LinkedHashMap<>();
        for (int i = 0; i < sides.size(); i++) {
            String optimizer =
                    keys.get(i).get("matrices.direction") + ", " + keys.get(i).get("matrices.mode");
            losses.computeIfAbsent(optimizer, none -> new ArrayList<>()).add(sides.get(i).validation);
        }
        int k = losses.values().stream().mapToInt(List::size).min().orElse(0);
        if (losses.size() < 2 || losses.size() == sides.size()) {
            return List.of();
        }
        List<Search> searches = new ArrayList<>();
        losses.forEach((optimizer, all) ->
                searches.add(new Search(optimizer, all.size(), Collections.min(all), expectedBest(all, k))));
        return searches;
    }

    /** The mean over all choices of k of the lowest of them: the i-th lowest is it in C(n - i, k - 1) of C(n, k). */
    static double expectedBest(List<Double> all, int k) {
        double[] sorted = all.stream().mapToDouble(l -> l).sorted().toArray();
        double expected = 0, left = 1;
        for (int i = 0; i <= sorted.length - k; i++) {
            double share = (double) k / (sorted.length - i); // that it is chosen, where none lower was
            expected += left * share * sorted[i];
            left *= 1 - share;
        }
        return expected;
    }

    /** The directory's name where all seeds share it and no other side has it, else what differs in a few words. */
    private static List<String> names(List<List<Read>> all, List<Map<String, String>> keys) {
        Map<String, List<String>> differing = differing(keys);
        List<String> names = new ArrayList<>();
        for (int i = 0; i < all.size(); i++) {
            Set<String> own = all.get(i).stream()
                    .map(r -> r.run.directory().getFileName().toString())
                    .collect(Collectors.toSet());
            int side = i;
            names.add(
                    own.size() == 1
                            ? own.iterator().next()
                            : differing.entrySet().stream()
                                    .limit(3)
                                    .map(e -> e.getKey().replaceFirst(".*\\.", "") + "="
                                            + e.getValue().get(side))
                                    .collect(Collectors.joining(" ")));
        }
        boolean unique = names.stream().distinct().count() == names.size();
        return unique
                ? names
                : all.stream()
                        .map(side -> side.getFirst().run.directory().toString())
                        .toList();
    }

    private static Side side(String name, List<Read> runs, double tokens, double seconds) {
        return new Side(
                name,
                runs.getFirst().run.directory().toString(),
                runs.stream().map(Read::seed).sorted().toList(),
                mean(runs, r -> last(r.curves.validations())),
                mean(runs, r -> Collections.min(r.curves.validations().values())),
                mean(runs, r -> last(r.curves.losses())),
                mean(runs, r -> r.turning.peak()),
                mean(runs, r -> r.turning.mean()),
                mean(runs, r -> r.turning.finalToPeak()),
                mean(runs, r -> r.within(0, tokens)),
                mean(runs, r -> r.within(1, seconds)));
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
            return new Difference(name, n, mean, largest, first, rate, crossover, null, null, null, null, null);
        }
        double squares = ends.stream().mapToDouble(d -> (d - mean) * (d - mean)).sum();
        double deviation = Math.sqrt(squares / (n - 1));
        double error = deviation / Math.sqrt(n);
        TDistribution student = TDistribution.of(n - 1);
        double reach = student.inverseSurvivalProbability(0.025) * error;
        double p = error == 0 ? (mean == 0 ? 1 : 0) : 2 * student.survivalProbability(Math.abs(mean) / error);
        return new Difference(
                name, n, mean, largest, first, rate, crossover, deviation, mean - reach, mean + reach, p, p);
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
