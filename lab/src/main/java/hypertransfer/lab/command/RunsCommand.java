package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.terminal.Ink;
import hypertransfer.lab.terminal.Table;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Turning;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "runs",
        description = "Lists the runs below a directory: state, losses, and the gap to the run that each follows.",
        footer = {
            "  ht runs",
            "  ht runs out/exp1",
            "  ht runs --json",
            "",
            "Rates are effective rates (the angle of a step), means over the matrices.",
            "Continue a run that was killed, interrupted or failed with",
            "  ht train RUN"
        })
public final class RunsCommand implements Runnable {
    @Parameters(paramLabel = "DIR", arity = "0..1", description = "Where to look (default: ${DEFAULT-VALUE}).")
    private Path directory = Path.of("out");

    @Mixin
    private JsonOption json;

    /**
     * A run; what is not known is no number.
     *
     * @param peak the largest effective rate
     * @param endToPeak the last effective rate over the largest
     */
    private record Row(
            String run,
            String state,
            Integer step,
            Integer steps,
            double loss,
            double validation,
            double peak,
            double mean,
            double endToPeak,
            double gap) {
        static Row of(Run run, Consumer<String> told) {
            String path = run.directory().toString(),
                    name = path.isEmpty() ? "." : path; // the current directory's has none
            double none = Double.NaN;
            try {
                Optional<Line.Training> trained = run.metrics().last(Line.Training.class);
                Optional<Line.Validation> validated = run.metrics().last(Line.Validation.class);
                Turning turning = Turning.of(run);
                return new Row(
                        name,
                        run.status().state().label(),
                        trained.map(Line.Training::step).orElse(-1) + 1,
                        run.configuration().steps(),
                        trained.map(Line.Training::loss).orElse(none),
                        validated.map(Line.Validation::loss).orElse(none),
                        turning.peak(),
                        turning.mean(),
                        turning.finalToPeak(),
                        run.target()
                                .map(target -> Gap.validation(run, target).last())
                                .orElse(none));
            } catch (Refusal | UncheckedIOException e) {
                told.accept(name + ": " + e.getMessage());
                return new Row(name, "unreadable", null, null, none, none, none, none, none, none);
            }
        }
    }

    @Override
    public void run() {
        List<Run> runs = Run.under(directory, json::warn);
        runs.forEach(run -> run.tellChanges(json::warn));
        List<Row> rows = runs.stream().map(run -> Row.of(run, json::warn)).toList();
        json.either(rows, out -> table(rows, out));
    }

    private void table(List<Row> rows, PrintWriter out) {
        if (rows.isEmpty()) {
            out.println("no runs in " + directory + "; 'ht train runs/muon.yaml' makes one");
            return;
        }
        new Table<Row>()
                .column("run", "%s", Row::run)
                .column("state", Row::state, RunsCommand::ink)
                .column("step", "%13s", row -> row.step == null ? null : row.step + "/" + row.steps)
                .column("loss", "%9.5f", Row::loss)
                .column("validation", "%10.5f", Row::validation)
                .column("peak rate", "%9.2g", Row::peak)
                .column("mean rate", "%9.2g", Row::mean)
                .column("end/peak", "%8.2g", Row::endToPeak)
                .column("gap", "%+8.1e", Row::gap)
                .print(out, rows);
    }

    private static Ink ink(String state) {
        return switch (state) {
            case "finished" -> Ink.GREEN;
            case "running" -> Ink.BLUE;
            case "failed", "unreadable" -> Ink.RED;
            default -> Ink.YELLOW;
        };
    }
}
