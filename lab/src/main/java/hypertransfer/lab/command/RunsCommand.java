package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.experiment.Gap;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.run.RunDirectory;
import hypertransfer.train.run.Trajectory;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.NavigableMap;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht runs}: the runs below a directory. */
@Command(
        name = "runs",
        description = "Lists the runs below a directory: how each stands, its losses, its gap to the run it follows.",
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

    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "DIR",
            arity = "0..1",
            defaultValue = "out",
            description = "Where to look (default: ${DEFAULT-VALUE}).")
    private Path directory;

    @Override
    public Integer call() {
        PrintWriter out = spec.commandLine().getOut();
        List<Path> runs = runs();
        if (runs.isEmpty()) {
            out.println("no runs in " + directory + "; 'ht train runs/muon.yaml' makes one");
        } else {
            int width =
                    runs.stream().mapToInt(run -> run.toString().length()).max().orElseThrow();
            String format = "%-" + width + "s  %-11s %13s %10s %10s %10s%n";
            out.printf(format, "run", "state", "step", "loss", "validation", "gap");
            runs.forEach(run -> out.printf(Locale.ROOT, format, row(run)));
        }
        out.flush();
        return Exit.FINE;
    }

    private List<Path> runs() {
        if (!Files.isDirectory(directory)) {
            throw new Refusal("there is no directory " + directory + "; 'ht runs DIR' looks in another");
        }
        try (Stream<Path> all =
                Files.find(directory, DEPTH, (path, attributes) -> path.endsWith(RunDirectory.CONFIGURATION))) {
            return all.map(Path::getParent).sorted().toList();
        } catch (IOException e) {
            throw new Refusal("cannot list " + directory + ": " + e.getMessage(), e);
        }
    }

    private static Object[] row(Path run) {
        try {
            Configuration c = RunDirectory.configuration(run);
            Trajectory t = Trajectory.read(run);
            int step = t.losses().isEmpty() ? 0 : t.losses().lastKey() + 1;
            String gap = c.target() == null
                    ? ""
                    : number("%.1e", Gap.of(run, Path.of(c.target())).finalValidation());
            return new Object[] {run, state(run), step + "/" + c.steps(), last(t.losses()), last(t.validations()), gap};
        } catch (Refusal e) {
            return new Object[] {run, "unreadable", "", "", "", ""};
        }
    }

    /** As the run last said; but only a process that holds it can be running it. */
    private static String state(Path run) {
        String said = RunDirectory.state(run).path("state").asString("");
        boolean open = said.equals("running") || said.isEmpty();
        return !open ? said : RunDirectory.held(run) ? "running" : RunDirectory.begun(run) ? "killed" : "not begun";
    }

    private static String last(NavigableMap<Integer, Double> curve) {
        return curve.isEmpty() ? "" : number("%.5f", curve.lastEntry().getValue());
    }

    private static String number(String format, double value) {
        return Double.isNaN(value) ? "" : String.format(Locale.ROOT, format, value);
    }
}
