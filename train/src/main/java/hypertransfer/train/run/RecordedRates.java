package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.Space;
import hypertransfer.train.config.Algorithm;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Strict;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Tail;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.zip.CRC32C;
import java.util.zip.CheckedInputStream;
import tools.jackson.databind.json.JsonMapper;

/**
 * A rate for every hidden matrix and step: what a run induced, for another run to use as its schedule.
 *
 * @param source the run it was taken from
 * @param series {@code rate} (nominal) or {@code effective}
 * @param logged how many steps the run had logged; those between are interpolated. Null where an older version wrote it
 */
public record RecordedRates(String source, String series, Integer logged, Map<String, List<Double>> rates) {

    public static RecordedRates read(Path file) {
        require(file);
        RecordedRates recorded = Strict.json(file, RecordedRates.class, "a recorded schedule");
        if (recorded.series == null || recorded.rates == null || recorded.rates.containsValue(null)) {
            throw new Refusal(file + " is not a recorded schedule: it needs series and rates; write one with"
                    + " 'ht schedule RUN'");
        }
        return recorded;
    }

    private static void require(Path file) {
        if (!Files.isRegularFile(file)) {
            throw new Refusal("there is no recorded schedule " + file + "; write one with 'ht schedule RUN'");
        }
    }

    /** The CRC-32C of such a file. */
    static String fingerprint(Path file) {
        require(file);
        CRC32C crc = new CRC32C();
        try (InputStream in = new CheckedInputStream(Files.newInputStream(file), crc)) {
            in.transferTo(OutputStream.nullOutputStream());
        } catch (IOException e) {
            throw new Refusal(
                    "cannot read the recorded schedule " + file + ": " + Atomic.reason(e)
                            + "; write one with 'ht schedule RUN'",
                    e);
        }
        return Long.toHexString(crc.getValue());
    }

    /** Takes the rates of a finished run; between logged steps they are interpolated linearly. */
    public static RecordedRates of(Run run, String series) {
        if (!List.of("rate", "effective").contains(series)) {
            throw new Refusal("the series is '" + series + "'; it must be rate or effective");
        }
        int steps = run.configuration().steps();
        Map<String, List<Double>> rates = new LinkedHashMap<>();
        run.provenance().matrices().forEach(name -> rates.put(name, new ArrayList<>()));
        if (rates.isEmpty()) {
            throw new Refusal(run.file(Run.PROVENANCE) + " names no hidden matrices, so there is nothing to record");
        }
        Tail tail = run.matrices();
        double[] before = null;
        int at = -1, logged = 0;
        for (Line line = tail.next(); line != null && line.step() < steps; line = tail.next()) {
            Line.Matrices m = (Line.Matrices) line;
            double[] now = series.equals("effective") ? m.effective() : m.rate();
            if (before == null && line.step() > 0) {
                break; // told below
            }
            int k = 0;
            for (List<Double> own : rates.values()) {
                for (int step = at + 1; step < line.step(); step++) {
                    double part = (double) (step - at) / (line.step() - at);
                    own.add(before[k] + part * (now[k] - before[k]));
                }
                own.add(now[k++]);
            }
            before = now;
            at = line.step();
            logged++;
        }
        if (at != steps - 1) {
            throw new Refusal(run.directory() + " has logged matrices up to step " + at + " of " + steps
                    + "; a schedule needs a finished run that began at step 0");
        }
        return new RecordedRates(
                run.directory().toAbsolutePath().normalize().getFileName().toString(), series, logged, rates);
    }

    public void write(Path file) {
        Atomic.write(file, JsonMapper.shared().writeValueAsString(this));
    }

    /** In the order of these matrices, for a run of this many steps. */
    List<Schedule> schedules(List<String> matrices, int steps, Algorithm algorithm) {
        List<Schedule> schedules = new ArrayList<>();
        for (String name : matrices) {
            Space target = algorithm.of(name).transfer().target();
            if (series.equals("effective") && target instanceof Space.Base) {
                throw new Refusal("the recorded schedule of " + source + " holds effective rates, which a Hyperball"
                        + " takes, and this run's target is " + target + "; record with --series rate");
            }
            List<Double> own = rates.get(name);
            if (own == null || own.size() < steps || own.contains(null)) {
                throw new Refusal("the recorded schedule of " + source + " has "
                        + (own == null
                                ? 0
                                : own.stream().filter(Objects::nonNull).count()) + " rates for " + name
                        + "; the run needs " + steps);
            }
            schedules.add(new Schedule.Recorded(own));
        }
        return schedules;
    }
}
