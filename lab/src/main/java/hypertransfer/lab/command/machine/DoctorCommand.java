package hypertransfer.lab.command.machine;

import hypertransfer.engine.Status;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.library.Transports;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.experiment.Machine;
import hypertransfer.lab.experiment.Version;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Width;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

@Command(
        name = "doctor",
        description = "Shows what this machine offers, which engines work on it, and what the others need.",
        footer = {"  ht doctor", "  ht doctor --json"})
public final class DoctorCommand implements Callable<Integer> {
    /** Where the second column begins. */
    private static final int INDENT = 11;

    @Mixin
    private JsonOption json;

    private final Supplier<List<Status>> survey;

    public DoctorCommand() {
        this(Engines::survey);
    }

    public DoctorCommand(Supplier<List<Status>> survey) {
        this.survey = survey;
    }

    private record Report(Version version, Machine machine, List<Status> engines, List<Status> ranks) {}

    @Override
    public Integer call() {
        var report = new Report(Version.built(), Machine.here(), survey.get(), Transports.survey());
        json.either(report, out -> out.println(Width.here().fold(text(report), INDENT)));
        return report.engines().stream().anyMatch(Status::works) ? Exit.FINE : Exit.CHECK_FAILED;
    }

    private static String text(Report report) {
        Machine m = report.machine();
        String vectors = m.vectorBits() == 0 ? "none: start through ./ht" : m.vectorBits() + " bits";
        var text = new StringBuilder(report.version() + "\n")
                .append("jdk        %s, %s, %s%n".formatted(m.jdk(), m.vendor(), m.home()))
                .append("system     %s, %s, %d cores%n".formatted(m.os(), m.architecture(), m.cores()))
                .append("memory     %s, of which %s free; "
                        .formatted(Width.size(m.memory()), Width.size(m.freeMemory())))
                .append("heap up to %s%n".formatted(Width.size(m.maxHeap())))
                .append("disk       %s free in %s%n".formatted(Width.size(m.freeDisk()), m.folder()))
                .append("vectors    " + vectors + "\n\nengine     works\n");
        report.engines().forEach(status -> text.append(line(status)));
        text.append("\nranks      found\n");
        report.ranks().forEach(status -> text.append(line(status)));
        return text.toString().stripTrailing();
    }

    private static String line(Status s) {
        String what = s.works() ? "yes   " + s.description() : "no    " + s.missing() + " (" + s.description() + ")";
        return "%-10s %s%n".formatted(s.name(), what);
    }
}
