package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.optimizer.Matrix;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The rate of each hidden matrix at each step, as configured, or as recorded and fitted to this run.
 *
 * @param schedules one for each hidden matrix
 * @param decays the weight decay of each at each step; empty where each keeps its own
 */
public record ScheduledRates(List<Schedule> schedules, List<List<Double>> decays) {
    /** @param told hears how a recorded schedule was fitted, where it is not of the same steps and matrices */
    public static ScheduledRates of(Configuration c, List<Matrix> matrices, Consumer<String> told) {
        String file = c.matrices().recorded();
        return of(c, matrices, file == null ? null : RecordedRates.read(Path.of(file)), told);
    }

    /** The same where the recorded schedule is at hand, or null. */
    static ScheduledRates of(Configuration c, List<Matrix> matrices, RecordedRates recorded, Consumer<String> told) {
        Map<String, Matrices> hidden = c.hidden();
        if (recorded == null) {
            return new ScheduledRates(
                    matrices.stream()
                            .map(m -> (Schedule) hidden.get(m.whole().name()).schedule(c.steps()))
                            .toList(),
                    List.of());
        }
        matrices.forEach(m -> require(recorded, m.rule().transfer()));
        if (recorded.replays() && recorded.steps() != c.steps()) {
            throw new Refusal(source(recorded) + " has rates and weight decays of " + recorded.steps()
                    + " steps, which only work together, but this run has " + c.steps()
                    + "; record with --series effective, which can be resampled, and train on a Hyperball");
        }
        Map<String, List<Double>> rates = byDepth(recorded, recorded.rates(), matrices, told);
        if (recorded.steps() != c.steps()) {
            told.accept(source(recorded) + " has " + recorded.steps() + " steps and this run " + c.steps()
                    + ": it is stretched, first step to first and last to last");
        }
        return new ScheduledRates(
                matrices.stream()
                        .map(m -> (Schedule) new Schedule.Recorded(rates.get(m.name())).resampled(c.steps()))
                        .toList(),
                recorded.replays()
                        ? List.copyOf(byDepth(recorded, recorded.decays(), matrices, text -> {})
                                .values())
                        : List.of());
    }

    double[] at(int step) {
        return schedules.stream().mapToDouble(schedule -> schedule.rate(step)).toArray();
    }

    /** Null where each matrix has its own. */
    double[] decaysAt(int step) {
        return decays.isEmpty()
                ? null
                : decays.stream().mapToDouble(own -> own.get(step)).toArray();
    }

    private static void require(RecordedRates recorded, Transfer transfer) {
        boolean base = !(transfer.target() instanceof Space.Hyperball);
        if (recorded.series().equals("effective") && base) {
            throw new Refusal(
                    source(recorded) + " holds effective rates, which are for a Hyperball, but this run's target is "
                            + transfer.target()
                            + "; record with --series rate (in an experiment's file, series: rate)");
        }
        if (recorded.angles() != null && recorded.angles() == base) {
            throw new Refusal(source(recorded)
                    + (base ? " holds rates of a Hyperball, which are angles" : " holds nominal rates of a Base space")
                    + ", and this run's target is " + transfer.target() + "; record with --series "
                    + (base ? "replay" : "effective"));
        }
        if (recorded.replays() && !(base && transfer.isPlain())) {
            throw new Refusal(source(recorded) + " holds rates and weight decays, which are for a plain Base optimizer;"
                    + " set matrices.mode=base, or record with --series effective");
        }
    }

    private static String source(RecordedRates recorded) {
        return "the recorded schedule of " + recorded.source();
    }

    /** By name where the names are the same, else by kind and relative depth, between the two nearest recorded layers. */
    private static Map<String, List<Double>> byDepth(
            RecordedRates recorded, Map<String, List<Double>> series, List<Matrix> matrices, Consumer<String> told) {
        int layers = matrices.getLast().whole().layer() + 1, deepest = 0;
        boolean same = series.size() == matrices.size();
        Map<String, List<Double>> fitted = new LinkedHashMap<>();
        for (Matrix m : matrices) {
            same &= series.containsKey(m.name());
            List<List<Double>> deep = Stream.iterate(0, layer -> layer + 1)
                    .map(layer -> series.get(m.in(layer)))
                    .takeWhile(Objects::nonNull)
                    .toList();
            if (deep.isEmpty()) {
                throw new Refusal(source(recorded) + " has no rates for " + m.name()
                        + " and none of its kind; it has those of " + series.keySet());
            }
            double last = deep.size() - 1,
                    at = layers == 1 ? last / 2 : m.whole().layer() * last / (layers - 1);
            int below = (int) at, above = Math.min(below + 1, deep.size() - 1);
            fitted.put(m.name(), between(deep.get(below), deep.get(above), at - below));
            deepest = Math.max(deepest, deep.size());
        }
        if (!same) {
            told.accept(source(recorded) + " has " + deepest + (deepest == 1 ? " layer" : " layers") + " and this run "
                    + layers + ": matrices take the rates of their kind at the same relative depth");
        }
        return fitted;
    }

    private static List<Double> between(List<Double> a, List<Double> b, double part) {
        return IntStream.range(0, a.size())
                .mapToObj(t -> (1 - part) * a.get(t) + part * b.get(t))
                .toList();
    }
}
