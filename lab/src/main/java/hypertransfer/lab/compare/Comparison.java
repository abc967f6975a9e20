package hypertransfer.lab.compare;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import hypertransfer.core.Refusal;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
import hypertransfer.train.log.RunStatus;
import hypertransfer.train.log.Turning;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Runs side by side. Two runs are two sides; of more runs, those that differ only in their seed are one side. The first side
 * is what the others are compared with; these are ranked by their validation losses at the seeds that all sides have.
 *
 * @param differing the settings that are not the same everywhere: for each key, a value per side
 * @param common the sides as they are at the seeds that all have, or at all seeds where there is no such seed
 */
record Comparison(
        List<Side> sides,
        Map<String, List<String>> differing,
        List<Difference> differences,
        List<Search> searches,
        @JsonIgnore List<Side> common) {
    /** What may differ within a side. */
    private static final Set<String> OWN = Set.of("seed", "target", "engine", "from.run");

    private static final String RATIO = "matrices.final_ratio";

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
     * @param below when it got below the loss that was asked for; null without one
     * @param optimizer direction and mode
     * @param finished whether all its runs are; of others the mean rate is that of fewer steps
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
            double sameTime,
            Below below,
            @JsonIgnore String optimizer,
            @JsonIgnore boolean finished) {}

    /**
     * The first validated steps at which the mean over seeds is below a loss; null where it never is.
     *
     * @param mean below at all
     * @param rule by as much as modded-nanogpt's track 3 demands of n seeds: (loss - mean) sqrt(n) is 0.004 or more
     * @param interval with all of its 95% interval; null for a single seed
     */
    record Below(Integer mean, Integer rule, Integer interval) {
        static final double ENOUGH = 0.004;

        static Below of(double loss, List<NavigableMap<Integer, Double>> seeds) {
            Integer mean = null, rule = null, interval = null;
            for (int step : seeds.getFirst().descendingKeySet()) {
                if (seeds.stream().allMatch(curve -> curve.containsKey(step))) {
                    Paired at = Paired.of(
                            seeds.stream().mapToDouble(curve -> curve.get(step)).toArray());
                    mean = at.mean() < loss ? (Integer) step : mean;
                    rule = (loss - at.mean()) * Math.sqrt(at.pairs()) >= ENOUGH ? (Integer) step : rule;
                    interval = at.high() != null && at.high() < loss ? (Integer) step : interval;
                }
            }
            return new Below(mean, rule, interval);
        }
    }

    /**
     * What a search of equal size would have found with one optimizer, at the seeds that all sides have.
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
     * @param at the step of that validation; where pairs have others, the earliest
     * @param ends of the seeds that both have
     * @param largest the largest absolute difference of training losses, over steps and pairs
     * @param first the first step at which a training or validation loss differs in any bit; null where none does
     * @param alike whether both runs of every pair multiplied by the same algorithms, without which bits differ at once
     * @param rates the largest relative difference of effective rates, over steps, matrices and pairs; null where no step
     *     is in both logs
     * @param crossover the last validated step at which the other one came out ahead; null where it never changes
     */
    record Difference(
            String name,
            int at,
            @JsonUnwrapped Paired ends,
            double largest,
            Integer first,
            boolean alike,
            Double rates,
            Integer crossover) {
        private Difference corrected(List<Difference> family) {
            Paired holm = ends.corrected(family.stream().map(Difference::ends).toList());
            return new Difference(name, at, holm, largest, first, alike, rates, crossover);
        }
    }

    private record Spent(double tokens, double seconds) {}

    private record Read(Run run, long seed, Curves curves, Turning turning, NavigableMap<Integer, Spent> spent) {
        static Read of(Run run, long seed, Consumer<String> told) {
            Curves curves = Curves.read(run.directory(), told);
            if (curves.validations().isEmpty()) {
                throw new Refusal(run.directory() + " has no validation loss yet; wait for one, or leave it out");
            }
            Read read = new Read(run, seed, curves, Turning.of(run), new TreeMap<>());
            run.metrics().lines(Line.Training.class).forEach(line -> {
                double seconds = read.all(Spent::seconds) + line.seconds();
                read.spent.put(line.step() + 1, new Spent(line.tokens(), seconds));
            });
            return read;
        }

        double all(ToDoubleFunction<Spent> what) {
            return spent.isEmpty() ? 0 : what.applyAsDouble(spent.lastEntry().getValue());
        }

        /** The last validation loss before more than this was spent. */
        double within(ToDoubleFunction<Spent> what, double most) {
            double last = Double.NaN;
            for (Map.Entry<Integer, Double> validated : curves.validations().entrySet()) {
                Map.Entry<Integer, Spent> until = spent.floorEntry(validated.getKey());
                if (until == null || what.applyAsDouble(until.getValue()) <= most) {
                    last = validated.getValue();
                }
            }
            return last;
        }
    }

    /** The runs of one side, with the settings that they share. */
    private static final class Alike {
        private final Map<String, String> settings;
        private final List<Read> runs = new ArrayList<>();
        private String name;

        Alike(Map<String, String> settings) {
            this.settings = settings;
        }

        double mean(ToDoubleFunction<Read> value) {
            return runs.stream().mapToDouble(value).average().orElse(Double.NaN);
        }

        List<Long> seeds() {
            return runs.stream().map(Read::seed).sorted().toList();
        }

        /** Its runs of these seeds; all of them where none is given. */
        Alike at(Set<Long> seeds) {
            Alike part = new Alike(settings);
            part.name = name;
            runs.stream().filter(r -> seeds.isEmpty() || seeds.contains(r.seed)).forEach(part.runs::add);
            return part;
        }

        double validation() {
            return mean(r -> last(r.curves.validations()));
        }

        String optimizer() {
            return settings.get("matrices.direction") + ", " + settings.get("matrices.mode");
        }

        Side summary(double tokens, double seconds, Double below) {
            var curves = runs.stream().map(r -> r.curves.validations()).toList();
            return new Side(
                    name,
                    runs.getFirst().run.directory().toString(),
                    seeds(),
                    validation(),
                    mean(r -> Collections.min(r.curves.validations().values())),
                    mean(r -> last(r.curves.losses())),
                    mean(r -> r.turning.peak()),
                    mean(r -> r.turning.mean()),
                    mean(r -> r.turning.finalToPeak()),
                    mean(r -> r.within(Spent::tokens, tokens)),
                    mean(r -> r.within(Spent::seconds, seconds)),
                    below == null ? null : Below.of(below, curves),
                    optimizer(),
                    runs.stream().allMatch(r -> r.run.status().state() == RunStatus.State.FINISHED));
        }
    }

    /**
     * Compares all runs at these places.
     *
     * @param baseline the name or a directory of the side that is compared with; null for the first
     * @param below a loss, the steps to which are counted; null for none
     * @param told what could not be read, and which runs had other settings before
     */
    static Comparison of(List<Path> places, String baseline, Double below, Consumer<String> told) {
        List<Run> runs = places.stream()
                .flatMap(place -> Run.under(place, told).stream())
                .toList();
        List<Map<String, String>> configured = new ArrayList<>();
        Map<String, Set<String>> ratios = new HashMap<>();
        for (Run run : runs) {
            configured.add(new TreeMap<>(run.settings()));
            ratios.computeIfAbsent(place(run), key -> new HashSet<>())
                    .add(configured.getLast().getOrDefault(RATIO, "-"));
        }
        Map<Object, Alike> sides = new LinkedHashMap<>();
        for (int i = 0; i < runs.size(); i++) {
            Run run = runs.get(i);
            run.tellChanges(told);
            Map<String, String> settings = configured.get(i);
            long seed = seed(run, settings.get("seed"));
            settings.keySet().removeIf(key -> OWN.contains(key) || key.startsWith("ranks."));
            settings.computeIfPresent("matrices.recorded", (key, path) -> anySeed(path)); // ht fair
            if (ratios.get(place(run)).size() > 1) { // a run of an experiment whose ratio was measured for each seed
                settings.put(RATIO, "of " + place(run));
            }
            Alike side = sides.computeIfAbsent(runs.size() == 2 ? sides.size() : settings, key -> new Alike(settings));
            side.runs.stream().filter(r -> r.seed == seed).findFirst().ifPresent(same -> {
                throw new Refusal(run.directory() + " has the settings and the seed of " + same.run.directory()
                        + "; give only one of them");
            });
            side.runs.add(Read.of(run, seed, told));
        }
        List<Alike> all = List.copyOf(sides.values());
        if (all.size() < 2) {
            throw new Refusal("there " + (all.isEmpty() ? "is no run" : "are runs of one configuration only") + " at "
                    + places.stream().map(Path::toString).collect(Collectors.joining(", "))
                    + "; give two runs, or runs of two configurations");
        }
        name(all);
        Alike first = baseline(all, baseline);
        Set<Long> common = new TreeSet<>(first.seeds());
        all.forEach(side -> common.retainAll(side.seeds()));
        List<Alike> order = all.stream()
                .sorted(Comparator.<Alike, Boolean>comparing(side -> side != first)
                        .thenComparing(side -> side.at(common).validation()))
                .toList();
        double tokens = least(all, Spent::tokens), seconds = least(all, Spent::seconds);
        List<Difference> differences = order.stream()
                .skip(1)
                .map(side -> difference(first, side, told))
                .toList();
        List<Alike> alike = all.stream().map(side -> side.at(common)).toList();
        return new Comparison(
                order.stream().map(side -> side.summary(tokens, seconds, below)).toList(),
                differing(order),
                differences.stream().map(d -> d.corrected(differences)).toList(),
                oneTask(differing(all)) ? searches(alike) : List.of(),
                alike.stream().map(side -> side.summary(tokens, seconds, below)).toList());
    }

    /** Whether all train one network on one text for as many steps, so that their optimizers can be compared. */
    static boolean oneTask(Map<String, List<String>> differing) {
        return differing.keySet().stream().noneMatch(key -> key.matches(Run.TASK));
    }

    private static String place(Run run) {
        return anySeed(run.directory().toString());
    }

    private static String anySeed(String path) {
        return path.replaceAll("(?<![^/])seed-\\d+(?=/)", "seed-*");
    }

    private static long seed(Run run, String text) {
        try {
            return Long.parseLong(text);
        } catch (NumberFormatException e) {
            throw new Refusal(run.file(Run.CONFIGURATION) + " has the seed " + text + "; it must be a whole number", e);
        }
    }

    private static double least(List<Alike> all, ToDoubleFunction<Spent> what) {
        return all.stream()
                .flatMap(side -> side.runs.stream())
                .mapToDouble(r -> r.all(what))
                .min()
                .orElseThrow();
    }

    /** By the directory's name, without a seed, where no other side has it, else by what differs in a few words. */
    private static void name(List<Alike> all) {
        List<String> names = all.stream()
                .map(side -> withoutSeed(side.runs.stream()
                        .map(r -> r.run.directory().getFileName().toString())
                        .toList()))
                .toList();
        Map<String, List<String>> differing = differing(all);
        for (int i = 0; i < all.size(); i++) {
            int number = i;
            Alike side = all.get(i);
            String words = differing.entrySet().stream()
                    .limit(3)
                    .map(e -> e.getKey().replaceFirst(".*\\.", "") + "="
                            + e.getValue().get(number))
                    .collect(Collectors.joining(" "));
            boolean own = !names.get(i).isEmpty() && Collections.frequency(names, names.get(i)) == 1;
            side.name = own || side.runs.size() == 1 ? names.get(i) : words;
        }
        if (all.stream().map(side -> side.name).distinct().count() < all.size()) {
            all.forEach(side -> side.name = side.runs.getFirst().run.directory().toString());
        }
    }

    /** What the names of one side's runs begin with, before a seed: muon of muon-1 and muon-2, or of muon and muon-seed1. */
    private static String withoutSeed(List<String> names) {
        String begin = names.getFirst();
        for (String name : names) {
            while (!name.startsWith(begin)) {
                begin = begin.substring(0, begin.length() - 1);
            }
        }
        int end = begin.length();
        if (names.stream().anyMatch(name -> name.length() > end && Character.isDigit(name.charAt(end)))) {
            begin = begin.replaceFirst("\\d+$", ""); // of a number that goes on
        }
        return begin.length() == end && names.contains(begin)
                ? begin
                : begin.matches(".*\\d[.]") // which is no seed
                        ? ""
                        : begin.replaceFirst("(?i)(?<=^|[-_. \\d])s(eed)?[-_=]?$", "")
                                .replaceFirst("[-_. ]+$", "");
    }

    private static Alike baseline(List<Alike> all, String asked) {
        List<Alike> parts = all.stream()
                .filter(side -> asked != null && side.name.contains(asked))
                .toList();
        return all.stream()
                .filter(side -> asked == null
                        || side.name.equals(asked)
                        || side.runs.stream().anyMatch(r -> r.run.directory().equals(Path.of(asked))))
                .findFirst()
                .or(() -> parts.size() == 1 ? Optional.of(parts.getFirst()) : Optional.empty())
                .orElseThrow(() -> new Refusal("--baseline is '" + asked + "'"
                        + (parts.isEmpty() ? "" : ", which is a part of " + parts.size() + " names")
                        + "; the sides are "
                        + all.stream().map(side -> side.name).collect(Collectors.joining(", "))));
    }

    /** Where optimizers were searched: direction and mode, each with several configurations. */
    private static List<Search> searches(List<Alike> all) {
        Map<String, List<Double>> losses = new LinkedHashMap<>();
        for (Alike side : all) {
            boolean own = side.optimizer().matches(".*, (base|hyperball)"); // others take another run's rates
            if (own && side.settings.get("matrices.recorded").equals("null")) {
                losses.computeIfAbsent(side.optimizer(), none -> new ArrayList<>())
                        .add(side.validation());
            }
        }
        if (losses.size() < 2 || losses.values().stream().allMatch(some -> some.size() == 1)) {
            return List.of();
        }
        int k = losses.values().stream().mapToInt(List::size).min().orElse(0);
        return losses.entrySet().stream()
                .map(e -> new Search(
                        e.getKey(), e.getValue().size(), Collections.min(e.getValue()), expectedBest(e.getValue(), k)))
                .toList();
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

    private static Map<String, List<String>> differing(List<Alike> sides) {
        Map<String, List<String>> differing = new TreeMap<>();
        for (String key :
                sides.stream().flatMap(side -> side.settings.keySet().stream()).toList()) {
            List<String> values = sides.stream()
                    .map(side -> side.settings.getOrDefault(key, "-"))
                    .toList();
            if (values.stream().distinct().count() > 1) {
                differing.put(key, values);
            }
        }
        return differing;
    }

    private static Difference difference(Alike baseline, Alike other, Consumer<String> told) {
        List<NavigableMap<Integer, Double>> validations = new ArrayList<>(), losses = new ArrayList<>();
        Double rates = null;
        boolean alike = true;
        for (Read a : baseline.runs) {
            for (Read b : other.runs.stream().filter(b -> b.seed == a.seed).toList()) {
                validations.add(minus(b.curves.validations(), a.curves.validations()));
                losses.add(minus(b.curves.losses(), a.curves.losses()));
                if (validations.getLast().isEmpty()) {
                    throw new Refusal(a.run.directory() + " and " + b.run.directory()
                            + " share no validated step; compare runs with the same validation.every");
                }
                alike &= b.run.multipliedAs(a.run);
                double rate = rates(b.run, a.run, told);
                rates = Double.isNaN(rate) ? rates : (Double) Math.max(rates == null ? 0 : rates, rate);
            }
        }
        if (validations.isEmpty()) {
            throw new Refusal(
                    other.name + " has no seed in common with the first side; compare runs of the same seeds");
        }
        double[] ends = validations.stream().mapToDouble(Comparison::last).toArray();
        double largest = losses.stream()
                .flatMap(d -> d.values().stream())
                .mapToDouble(Math::abs)
                .max()
                .orElse(0);
        Integer first = Stream.concat(validations.stream(), losses.stream())
                .flatMap(d -> d.entrySet().stream())
                .filter(d -> d.getValue() != 0)
                .map(Map.Entry::getKey)
                .min(Comparator.naturalOrder())
                .orElse(null);
        int at = validations.stream().mapToInt(NavigableMap::lastKey).min().orElseThrow();
        return new Difference(other.name, at, Paired.of(ends), largest, first, alike, rates, crossover(validations));
    }

    private static double rates(Run own, Run other, Consumer<String> told) {
        try {
            return Gap.of(own.directory(), other.directory()).rate();
        } catch (Refusal e) { // losses are compared without them
            told.accept(e.getMessage());
            return Double.NaN;
        }
    }

    private static NavigableMap<Integer, Double> minus(Map<Integer, Double> from, Map<Integer, Double> what) {
        NavigableMap<Integer, Double> apart = new TreeMap<>(from);
        apart.keySet().retainAll(what.keySet());
        apart.replaceAll((step, value) -> value - what.get(step));
        return apart;
    }

    /** Where the sum over the pairs last changes its sign, at the validations that all have. */
    private static Integer crossover(List<NavigableMap<Integer, Double>> differences) {
        Integer last = null;
        double before = 0;
        for (int step : differences.getFirst().keySet()) {
            if (differences.stream().allMatch(d -> d.containsKey(step))) {
                double sign = Math.signum(
                        differences.stream().mapToDouble(d -> d.get(step)).sum());
                last = sign * before < 0 ? (Integer) step : last;
                before = sign == 0 ? before : sign;
            }
        }
        return last;
    }

    private static double last(NavigableMap<Integer, Double> curve) {
        return curve.isEmpty() ? Double.NaN : curve.lastEntry().getValue();
    }
}
