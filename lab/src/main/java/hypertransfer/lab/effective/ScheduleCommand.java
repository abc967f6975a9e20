package hypertransfer.lab.effective;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.Csv;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.RecordedRates;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ht schedule}: what a run's matrices were moved by, as a schedule for another run. */
@Command(
        name = "schedule",
        description = "Writes the rate of every hidden matrix at every step of a finished run as a recorded schedule,"
                + " and sums it up.",
        footer = {
            "  ht schedule out/fair              writes out/fair/schedule-rate.json",
            "  ht schedule out/muon --series effective --out muon-as-angles.json",
            "  ht train runs/muon.yaml --out out/replayed \\",
            "      --set matrices.recorded=out/fair/schedule-rate.json",
            "  ht schedule out/muonh --series replay --csv replay.csv",
            "",
            "The series: rate, for a Base optimizer; effective, an angle for a Hyperball;",
            "replay, rate and weight decay with which plain Muon of any framework takes the",
            "same steps. A run of another length stretches rates, one of another depth",
            "takes those of the same kind at the same relative depth. The error of a named",
            "schedule is relative, root mean square over the steps."
        })
public final class ScheduleCommand implements Runnable {
    private static final int MOST = 200;

    @Parameters(paramLabel = "RUN", description = "A finished run; steps between logged ones are interpolated.")
    private Path run;

    @Option(
            names = "--series",
            defaultValue = "rate",
            description = "rate, effective or replay (default: ${DEFAULT-VALUE}).")
    private String series;

    @Option(names = "--out", paramLabel = "FILE", description = "A new file (default: RUN/schedule-SERIES.json).")
    private Path out;

    @Option(names = "--csv", paramLabel = "FILE", description = "A new file: step, matrix, rate, and decay of replay.")
    private Path csv;

    @Mixin
    private JsonOption json;

    /** The JSON line. */
    record Answer(String file, String series, int steps, int logged, List<Induced.Summary> matrices, Fit all) {}

    @Override
    public void run() {
        if (out != null && Files.exists(out)) {
            throw new Refusal(out + " is already there; choose another --out");
        }
        RecordedRates recorded = RecordedRates.of(new Run(run), series, json::warn);
        Induced induced = Induced.of(recorded);
        Path to = out == null ? run.resolve("schedule-" + series + ".json") : out;
        if (csv != null) {
            write(recorded);
        }
        recorded.write(to);
        json.both(
                new Answer(
                        to.toString(), series, recorded.steps(), recorded.logged(), induced.matrices(), induced.all()),
                print -> print(print, recorded, induced, to));
    }

    private static void print(PrintWriter print, RecordedRates recorded, Induced induced, Path to) {
        int width = induced.matrices().stream()
                .mapToInt(m -> m.matrix().length())
                .max()
                .orElse(6);
        String format = "%-" + Math.max(6, width) + "s %10s %6s %10s %9s  %s%n";
        print.printf(format, "matrix", "peak", "step", "end", "end/peak", "nearest named schedule");
        induced.matrices().stream()
                .limit(MOST)
                .forEach(m -> print.printf(
                        format,
                        m.matrix(),
                        number(m.peak()),
                        m.peakStep(),
                        number(m.end()),
                        number(m.endToPeak()),
                        m.shape() == null ? "all rates are zero" : m.shape().text()));
        if (induced.matrices().size() > MOST) {
            print.println("and " + (induced.matrices().size() - MOST) + " more; --json has all");
        }
        if (induced.all() != null) {
            print.println("one schedule for all: " + induced.all().text());
        }
        if (recorded.replays()) {
            print.println("with weight decays for every step; below zero they make a matrix longer");
        }
        print.println(to + ": " + recorded.series() + " of " + recorded.rates().size() + " matrices over "
                + recorded.steps() + " steps"
                + (recorded.logged() < recorded.steps()
                        ? ", of which " + recorded.logged() + " were logged; the others are interpolated"
                        : ""));
    }

    private void write(RecordedRates recorded) {
        boolean replays = recorded.replays();
        Csv.write(
                csv,
                "step,matrix,rate" + (replays ? ",decay" : ""),
                table -> recorded.rates().forEach((name, rates) -> {
                    List<Double> decays = replays ? recorded.decays().get(name) : null;
                    for (int t = 0; t < rates.size(); t++) {
                        if (replays) {
                            table.row(t, name, rates.get(t), decays.get(t));
                        } else {
                            table.row(t, name, rates.get(t));
                        }
                    }
                }));
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, "%.4g", value);
    }
}
