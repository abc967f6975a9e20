package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Curves;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.NavigableMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht runs}: the runs below a directory. */
@Command(
        name = "runs",
        description = "Lists the runs below a directory: state, losses, and the gap to the run that each follows.",
        footer = {
            "",
            "Examples:",
            "  ht runs",
            "  ht runs out/exp1",
            "",
            "Continue a run that was killed, interrupted or failed with",
            "  ht train RUN --resume"
        })
public final class RunsCommand implements Callable<Integer> {
    private static final int DEPTH = 4;
    /** The columns beside the run's name. */
    private static final int OTHERS = 58;

    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "DIR",
            arity = "0..1",
            defaultValue = "out",
            description = "Where to look (default: ${DEFAULT-VALUE}).")
    private Path directory;

    private int width;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        List<Run> runs = Run.under(directory, DEPTH, unreadable -> out.println("warning: " + unreadable));
        if (runs.isEmpty()) {
            out.println("no runs in " + directory + "; 'ht train runs/muon.yaml' makes one");
        } else {
            int longest = runs.stream()
                    .mapToInt(run -> run.directory().toString().length())
                    .max()
                    .orElseThrow();
            width = Math.min(longest, Math.max(12, Width.here().columns() - OTHERS));
            String format = "%-" + width + "s  %-11s %13s %9s %10s %8s%n";
            out.printf(format, "run", "state", "step", "loss", "validation", "gap");
            runs.forEach(run -> out.printf(Locale.ROOT, format, row(run)));
        }
        out.flush();
        return Exit.FINE;
    }

    private Object[] row(Run run) {
        try {
            Configuration c = run.configuration();
            Curves curves = Curves.read(run.directory());
            int step = curves.losses().isEmpty() ? 0 : curves.losses().lastKey() + 1;
            String gap = run.target()
                    .map(target -> Gap.validation(run.directory(), target.directory()))
                    .map(loss -> number("%+.1e", loss.last()))
                    .orElse("");
            return new Object[] {
                Width.end(run.directory().toString(), width),
                run.standing().state().label(),
                step + "/" + c.steps(),
                last(curves.losses()),
                last(curves.validations()),
                gap
            };
        } catch (Refusal | UncheckedIOException e) {
            return new Object[] {Width.end(run.directory().toString(), width), "unreadable", "", "", "", ""};
        }
    }

    private static String last(NavigableMap<Integer, Double> curve) {
        return curve.isEmpty() ? "" : number("%.5f", curve.lastEntry().getValue());
    }

    private static String number(String format, double value) {
        return Double.isNaN(value) ? "" : String.format(Locale.ROOT, format, value);
    }
}
