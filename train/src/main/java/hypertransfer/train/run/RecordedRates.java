package hypertransfer.train.run;

import com.fasterxml.jackson.annotation.JsonInclude;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.train.Word;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Checksum;
import hypertransfer.train.file.Strict;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Tail;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import tools.jackson.databind.json.JsonMapper;

/**
 * A rate for every hidden matrix and step: what a run induced, for another run to use as its schedule.
 *
 * @param source the run it was taken from
 * @param series {@code rate} (nominal), {@code effective}, or {@code replay}: rates and decays with which plain Base
 *     repeats these steps
 * @param angles of {@code rate}, whether the rates are the angles of a Hyperball; null where an older version wrote it, or
 *     only some matrices are on one
 * @param logged how many steps the run had logged; those between are interpolated. Null where an older version wrote it
 * @param decays of {@code replay}, the weight decays that go with the rates, below zero where a step makes the matrix longer;
 *     else null
 */
public record RecordedRates(
        String source,
        String series,
        @JsonInclude(JsonInclude.Include.NON_NULL) Boolean angles,
        Integer logged,
        Map<String, List<Double>> rates,
        @JsonInclude(JsonInclude.Include.NON_NULL) Map<String, List<Double>> decays) {
    private static final List<String> SERIES = List.of("rate", "effective", "replay");

    /** A series by its name; refuses one that there is not. */
    public static String known(String series) {
        if (!SERIES.contains(series)) {
            throw new Refusal("the series is '" + series + "'; it must be rate, effective or replay");
        }
        return series;
    }

    public static RecordedRates read(Path file) {
        require(file);
        RecordedRates recorded = Strict.json(file, RecordedRates.class, "a recorded schedule");
        if (recorded.series == null || recorded.rates == null || recorded.rates.containsValue(null)) {
            throw new Refusal(file + " is not a recorded schedule: it needs series and rates; write one with"
                    + " 'ht schedule RUN'");
        }
        if (!SERIES.contains(recorded.series) || recorded.replays() != (recorded.decays != null)) {
            throw new Refusal(file + " is not a recorded schedule: its series is '" + recorded.series + "', with "
                    + (recorded.decays == null ? "no decays" : "decays") + "; write one with 'ht schedule RUN'");
        }
        recorded.requireWhole(file, recorded.rates);
        if (recorded.replays()) {
            recorded.requireWhole(file, recorded.decays);
        }
        return recorded;
    }

    /** Every matrix has a number for every step. */
    private void requireWhole(Path file, Map<String, List<Double>> numbers) {
        if (rates.isEmpty() || !numbers.keySet().equals(rates.keySet())) {
            throw new Refusal(file + " is not a recorded schedule: it has rates of " + rates.keySet()
                    + " and decays of " + numbers.keySet() + "; write one with 'ht schedule RUN'");
        }
        numbers.forEach((matrix, own) -> {
            long known = own == null
                    ? 0
                    : own.stream().filter(v -> v != null && Double.isFinite(v)).count();
            if (known != steps() || known != own.size()) {
                throw new Refusal(file + " has " + known + " numbers for " + matrix + " and " + steps()
                        + " for the first matrix; each needs one for every step: write the file again with 'ht schedule"
                        + " RUN'");
            }
        });
    }

    public int steps() {
        return rates.values().iterator().next().size();
    }

    /** Whether it has weight decays too. */
    public boolean replays() {
        return series.equals("replay");
    }

    private static void require(Path file) {
        if (!Files.isRegularFile(file)) {
            throw new Refusal("there is no recorded schedule " + file + "; write one with 'ht schedule RUN'");
        }
    }

    /** The CRC-32C of such a file. */
    static String fingerprint(Path file) {
        require(file);
        byte[] bytes = Atomic.told("read", file, () -> Files.readAllBytes(file));
        return Long.toHexString(Checksum.of(bytes));
    }

    /**
     * Takes the rates of a finished run; between logged steps they are interpolated linearly.
     *
     * @param told what could not be read
     */
    public static RecordedRates of(Run run, String series, Consumer<String> told) {
        known(series);
        int steps = run.configuration().steps(), last = -1;
        List<String> names = run.provenance().matrices();
        if (names.isEmpty()) {
            throw new Refusal(run.file(Run.PROVENANCE) + " names no hidden matrices, so there is nothing to record");
        }
        boolean replay = series.equals("replay");
        if (replay) {
            boolean plain = run.configuration().hidden().values().stream()
                    .allMatch(own -> own.transfer().isPlain());
            run.provenance().rules().forEach((matrix, rule) -> requireOwn(matrix, rule, plain));
        }
        Series rates = new Series(names), decays = new Series(names);
        Tail tail = run.matrices();
        for (Line line = tail.next(); line != null && line.step() < steps; line = tail.next()) {
            Line.Matrices m = (Line.Matrices) line;
            if (last < 0 && line.step() > 0) {
                break; // told below
            }
            last = line.step();
            rates.add(last, series.equals("effective") ? m.effective() : replay ? pushes(run, m) : m.rate());
            if (replay) {
                decays.add(last, decays(m));
            }
        }
        tail.tell(told);
        if (last != steps - 1) {
            throw new Refusal(run.directory() + " has logged "
                    + (last < 0 ? "no matrices at step 0" : "matrices up to step " + last + " of " + steps)
                    + "; a schedule needs a finished run that began at step 0");
        }
        String source =
                run.directory().toAbsolutePath().normalize().getFileName().toString();
        List<Boolean> balls = run.configuration().hidden().values().stream()
                .map(own -> own.transfer().carrier() instanceof Space.Hyperball)
                .distinct()
                .toList();
        Boolean angles = series.equals("rate") && balls.size() == 1 ? balls.getFirst() : null;
        return new RecordedRates(source, series, angles, rates.logged, rates.values, replay ? decays.values : null);
    }

    /** The same of steps that were taken in memory. */
    public static RecordedRates of(List<Rehearsal.Taken> steps, String series) {
        List<String> names = steps.getFirst().names();
        boolean replay = series.equals("replay");
        Series rates = new Series(names), decays = new Series(names);
        for (int t = 0; t < steps.size(); t++) {
            Line.Matrices m = Line.Matrices.of(t, steps.get(t).matrices(), null);
            rates.add(t, series.equals("effective") ? m.effective() : replay ? m.push() : m.rate());
            if (replay) {
                decays.add(t, decays(m));
            }
        }
        return new RecordedRates("memory", series, null, steps.size(), rates.values, replay ? decays.values : null);
    }

    /** A direction made of scaled gradients, or of gradients from elsewhere, is not the one a plain optimizer makes. */
    private static void requireOwn(String matrix, GradientRule rule, boolean plain) {
        if (rule != GradientRule.AS_IS && !(plain && rule == GradientRule.AT_RADIUS)) {
            throw new Refusal("the gradient of " + matrix + " was not taken as it is ("
                    + Word.of(rule)
                    + "), so a plain optimizer cannot replay the run; record one of mode hyperball, base or fair");
        }
    }

    private static double[] pushes(Run run, Line.Matrices m) {
        if (Double.isNaN(m.push()[0])) {
            throw new Refusal(run.file(Run.MATRICES) + " has no 'push' at step " + m.step()
                    + ": an older version logged it; train the run again, or record with --series effective");
        }
        return m.push();
    }

    /** 1 - keep = rate * decay, as of a plain Base optimizer. */
    private static double[] decays(Line.Matrices m) {
        double[] decays = new double[m.push().length];
        Arrays.setAll(decays, k -> {
            double decay = m.impliedDecay()[k] * m.effective()[k] / m.push()[k];
            return Double.isFinite(decay) ? decay : 0; // nothing moved, or the first step from zero, which keeps all
        });
        return decays;
    }

    /** A number for every matrix and step. */
    private static final class Series {
        private final Map<String, List<Double>> values = new LinkedHashMap<>();
        private double[] before;
        private int at = -1;
        private int logged;

        Series(List<String> names) {
            names.forEach(name -> values.put(name, new ArrayList<>()));
        }

        void add(int step, double[] now) {
            int k = 0;
            for (Map.Entry<String, List<Double>> matrix : values.entrySet()) {
                List<Double> own = matrix.getValue();
                if (!Double.isFinite(now[k])) {
                    throw new Refusal(matrix.getKey() + " has no finite number of this series at step " + step
                            + ", as at a first step from zero; record with --series replay, or rate");
                }
                for (int t = at + 1; t < step; t++) {
                    double part = (double) (t - at) / (step - at);
                    own.add(before[k] + part * (now[k] - before[k]));
                }
                own.add(now[k++]);
            }
            before = now;
            at = step;
            logged++;
        }
    }

    public void write(Path file) {
        Atomic.write(Atomic.placed(file), JsonMapper.shared().writeValueAsString(this));
    }
}
