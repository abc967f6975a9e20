package hypertransfer.lab.command;

import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.report.Paper;
import hypertransfer.lab.report.Report;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "report",
        description = "Writes runs as a self-contained HTML page: table, curves, matrices, differences.",
        footer = {
            "  ht report out/muon",
            "  ht report out/muon out/muon-hypertransfer --out report.html",
            "  ht report out/muon-sweep --title \"Rates of Muon on my text\"",
            "  ht report out/muon --pdf muon.pdf"
        })
public final class ReportCommand implements Runnable {
    private static final int MANY = 12;

    @Spec
    private CommandSpec spec;

    @Parameters(
            paramLabel = "RUN",
            arity = "0..*",
            description = "Runs, or directories with runs in them; the targets that they follow are added.")
    private List<Path> places = List.of();

    @Option(names = "--out", paramLabel = "FILE", description = "The file to write (default: ${DEFAULT-VALUE}).")
    private Path out = Path.of("report.html");

    @Option(names = "--title", paramLabel = "TEXT", description = "The page's title (default: what the runs are).")
    private String title;

    @Option(
            names = "--note",
            paramLabel = "TEXT",
            description = "A sentence under the title that says the result (default: one made from the losses).")
    private String note;

    @Option(
            names = "--pdf",
            paramLabel = "FILE",
            description = "Also print the page to a PDF, with an installed Chromium or Chrome.")
    private Path pdf;

    @Override
    public void run() {
        Options.Out.file("--out", out);
        if (pdf != null) {
            Options.Out.differ("--out and --pdf", out, Options.Out.file("--pdf", pdf));
        }
        Report report = Report.write(title, note, places, out);
        PrintWriter print = spec.commandLine().getOut(),
                err = spec.commandLine().getErr();
        report.skipped().forEach(sentence -> err.println("left out: " + sentence));
        report.damaged().forEach(sentence -> err.println("warning: " + sentence));
        int runs = report.names().size();
        print.println("report of " + (runs > MANY ? runs + " runs" : String.join(", ", report.names()))
                + (report.skipped().isEmpty() ? "" : " (" + report.skipped().size() + " left out)") + ": "
                + out.toAbsolutePath().normalize().toUri());
        if (pdf != null) {
            print.println("printing ...");
            print.flush();
            Paper.print(out, pdf);
            print.println("printed: " + pdf.toAbsolutePath().normalize().toUri());
        }
    }
}
