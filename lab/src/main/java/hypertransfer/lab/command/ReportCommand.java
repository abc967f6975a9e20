package hypertransfer.lab.command;

import hypertransfer.lab.report.Report;
import java.nio.file.Path;
import java.util.List;
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
        List<String> names = Report.write(places, out);
        spec.commandLine()
                .getOut()
                .println("report of " + String.join(", ", names) + ": "
                        + out.toAbsolutePath().normalize().toUri());
        return 0;
    }
}
