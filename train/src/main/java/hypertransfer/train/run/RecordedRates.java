package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Tail;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * A rate for every hidden matrix and step: what a run induced, for another run to use as its schedule.
 *
 * @param source the run it was taken from
 * @param series {@code rate} (nominal) or {@code effective}
 */
public record RecordedRates(String source, String series, Map<String, List<Double>> rates) {

    public static RecordedRates read(Path file) {
        if (!Files.isRegularFile(file)) {
            throw new Refusal("there is no recorded schedule " + file + "; write one with 'ht schedule RUN'");
        }
        try {
            return JsonMapper.shared().readValue(file, RecordedRates.class);
        } catch (JacksonException e) {
            throw new Refusal(file + " is not a recorded schedule: " + e.getOriginalMessage(), e);
        }
    }

    /** Takes the rates of a run whose every step was logged. */
    public static RecordedRates of(Run run, String series) {
        if (!List.of("rate", "effective").contains(series)) {
            throw new Refusal("the series is '" + series + "'; it must be rate or effective");
        }
        int steps = run.configuration().steps();
        Map<String, List<Double>> rates = new LinkedHashMap<>();
        run.provenance().matrices().forEach(name -> rates.put(name, new ArrayList<>()));
        Tail tail = run.matrices();
        for (int step = 0; step < steps; step++) {
            if (!(tail.next() instanceof Line.Matrices line && line.step() == step)) {
                throw new Refusal(run.directory() + " has no line for step " + step + " of " + steps
                        + " in matrices.jsonl; a schedule needs a finished run with log.matrices_every 1");
            }
            int k = 0;
            for (List<Double> own : rates.values()) {
                own.add((series.equals("effective") ? line.effective() : line.rate())[k++]);
            }
        }
        return new RecordedRates(run.directory().getFileName().toString(), series, rates);
    }

    public void write(Path file) {
        Atomic.write(file, JsonMapper.shared().writeValueAsString(this));
    }

    /** In the order of these matrices, for a run of this many steps. */
    List<Schedule> schedules(List<String> matrices, int steps) {
        List<Schedule> schedules = new ArrayList<>();
        for (String name : matrices) {
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
