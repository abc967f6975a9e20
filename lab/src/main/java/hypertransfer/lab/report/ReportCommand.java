package hypertransfer.lab.report;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** Writes runs as one HTML file that needs nothing else. */
@Command(
        name = "report",
        description = "Writes runs of one network as a self-contained HTML page: table, curves, matrices, differences.",
        footer = {"", "Example:", "  ht report runs/out/muon runs/out/hypertransfer --out report.html"})
public final class ReportCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "RUN",
            arity = "0..*",
            description =
                    "directories of runs, or directories that have runs inside; the targets they follow come along")
    private List<Path> places = List.of();

    @Option(
            names = "--out",
            paramLabel = "FILE",
            defaultValue = "report.html",
            description = "the file to write (default: ${DEFAULT-VALUE})")
    private Path out;

    @Override
    public Integer call() {
        List<String> names = write(places, out);
        spec.commandLine()
                .getOut()
                .println("report of " + String.join(", ", names) + ": "
                        + out.toAbsolutePath().normalize().toUri());
        return 0;
    }

    /** Writes the report and returns the names of the runs in it. */
    public static List<String> write(List<Path> places, Path out) {
        if (places.isEmpty()) {
            throw new Refusal("a report needs at least one run; name the directories: ht report RUN...");
        }
        var given = new ArrayList<Path>();
        for (Path place : places) {
            List<Path> found = Runs.under(place);
            if (found.isEmpty()) {
                throw new Refusal("there is no run in " + place
                        + ": no directory in it has a config.yaml; give a directory that 'ht train' wrote");
            }
            given.addAll(found);
        }
        List<Path> all = Runs.withTargets(given);
        Map<Path, String> names = Runs.names(all);
        List<RunFiles> runs = all.stream().map(RunFiles::read).toList();
        Runs.sameNetwork(names, runs);
        var messages = new ArrayList<String>();
        for (RunFiles run : runs) {
            String target = Runs.target(run).map(names::get).orElse(null);
            messages.addAll(new Feed(names.get(run.directory()), target, run).read());
        }
        try {
            Path file = out.toAbsolutePath();
            Files.createDirectories(file.getParent());
            Files.writeString(file, Page.report(messages));
        } catch (IOException e) {
            throw new Refusal("cannot write " + out + " (" + e + "); give another file with --out", e);
        }
        return List.copyOf(names.values());
    }
}
