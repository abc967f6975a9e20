package hypertransfer.lab.effective;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.Csv;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.lab.terminal.Table;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.RecordedRates;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "schedule",
        description = "Writes the rate of every hidden matrix at every step of a finished run as a recorded schedule,"
                + " and prints a summary.",
        footer = {
            "  ht schedule out/fair              writes out/fair/schedule-rate.json",
            "  ht schedule out/muon --series effective --out muon-as-angles.json",
            "  ht train runs/muon.yaml --out out/replayed \\",
            "      --set matrices.recorded=out/fair/schedule-rate.json",
            "  ht schedule out/muonh --series replay --csv replay.csv",
            "",
            "The series: rate, for a Base optimizer; effective, an angle for a Hyperball;",
            "replay, rate and weight decay with which plain Muon of any framework takes the",
            "same steps. A run of another length stretches the rates; in a run of another",
            "depth, each matrix takes the rates of its kind at the same relative depth. The",
            "error of a named schedule is relative, root mean square over the steps."
        })
public final class ScheduleCommand implements Runnable {
    /** No fit needs more points of a curve. */
    private static final int POINTS = 256;

    @Parameters(paramLabel = "RUN", description = "A finished run; steps between logged ones are interpolated.")
    private Path run;

    @Option(
            names = "--series",
            paramLabel = "SERIES",
            description = "rate, effective or replay (default: ${DEFAULT-VALUE}).")
    private String series = "rate";

    @Option(names = "--out", paramLabel = "FILE", description = "A new file (default: RUN/schedule-SERIES.json).")
    private Path out;

    @Option(names = "--csv", paramLabel = "FILE", description = "A new file: step, matrix, rate, and decay of replay.")
    private Path csv;

    @Mixin
    private JsonOption json;

    /** @param shape the nearest named schedule; null where fewer than three rates are above zero */
    record Summary(String matrix, double peak, int peakStep, double end, double endToPeak, Fit shape) {}

    /** @param all the one named schedule for all matrices; null where fewer than three rates are above zero */
    record Answer(String file, String series, int steps, int logged, List<Summary> matrices, Fit all) {}

    @Override
    public void run() {
        if (out != null && Files.exists(out)) {
            throw new Refusal(out + " is already there; choose another --out");
        }
        Path to = out == null ? run.resolve("schedule-" + series + ".json") : out;
        if (csv != null) {
            Options.Out.differ("--out and --csv", to, csv);
        }
        RecordedRates recorded = RecordedRates.of(new Run(run), series, json::warn);
        Answer answer = answer(recorded, to);
        if (csv != null) {
            write(recorded);
        }
        recorded.write(Path.of(answer.file));
        json.either(answer, print -> print(print, answer, recorded.replays()));
    }

    private static Answer answer(RecordedRates recorded, Path to) {
        List<Summary> matrices = new ArrayList<>();
        List<List<Fit.Point>> curves = new ArrayList<>();
        recorded.rates().forEach((name, rates) -> {
            double peak = Collections.max(rates), end = rates.getLast();
            int step = rates.indexOf(peak);
            List<Fit.Point> curve = points(rates);
            Fit fit = Fit.of(List.of(curve), rates.size(), List.of((long) step));
            matrices.add(new Summary(name, peak, step, end, peak == 0 ? 0 : end / peak, fit));
            if (!curve.isEmpty()) {
                curves.add(curve);
            }
        });
        List<Long> peaks =
                matrices.stream().map(m -> (long) m.peakStep).distinct().toList();
        Fit all = Fit.of(curves, recorded.steps(), peaks);
        return new Answer(to.toString(), recorded.series(), recorded.steps(), recorded.logged(), matrices, all);
    }

    /** Every k-th step and the last; a rate of zero has no logarithm. */
    private static List<Fit.Point> points(List<Double> rates) {
        List<Fit.Point> points = new ArrayList<>();
        int every = Math.ceilDiv(rates.size(), POINTS);
        for (int t = 0; t < rates.size(); t++) {
            if ((t % every == 0 || t == rates.size() - 1) && rates.get(t) > 0) {
                points.add(new Fit.Point(t, Math.log(rates.get(t))));
            }
        }
        return points;
    }

    private static void print(PrintWriter print, Answer answer, boolean replays) {
        new Table<Summary>()
                .column("matrix", "%s", Summary::matrix)
                .column("peak", "%10.4g", Summary::peak)
                .column("step", "%6d", Summary::peakStep)
                .column("end", "%10.4g", Summary::end)
                .column("end/peak", "%9.4g", Summary::endToPeak)
                .column("nearest named schedule", "%s", m -> Fit.text(m.shape))
                .print(print, answer.matrices);
        print.println("one schedule for all: " + Fit.text(answer.all));
        if (replays) {
            print.println("with weight decays for every step; below zero they make a matrix longer");
        }
        String logged = ", of which " + answer.logged + " were logged; the others are interpolated";
        print.println(answer.file + ": " + answer.series + " of " + answer.matrices.size() + " matrices over "
                + StepLine.count(answer.steps, "step") + (answer.logged < answer.steps ? logged : ""));
    }

    private void write(RecordedRates recorded) {
        boolean replays = recorded.replays();
        Csv.write(
                csv,
                "step,matrix,rate" + (replays ? ",decay" : ""),
                table -> recorded.rates().forEach((name, rates) -> {
                    for (int t = 0; t < rates.size(); t++) {
                        List<Object> cells = new ArrayList<>(List.of(t, name, rates.get(t)));
                        if (replays) {
                            cells.add(recorded.decays().get(name).get(t));
                        }
                        table.row(cells.toArray());
                    }
                }));
    }
}
