package hypertransfer.lab.command.answer;

import hypertransfer.core.Refusal;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.RecordedRates;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht schedule}: what a run's matrices were moved by, as a schedule for another run. */
@Command(
        name = "schedule",
        description = "Writes the rate of every hidden matrix at every step of a finished run as a recorded schedule.",
        footer = {
            "",
            "Examples:",
            "  ht schedule out/fair              writes out/fair/schedule-rate.json",
            "  ht schedule out/muon --series effective --out muon-as-angles.json",
            "  ht train runs/muon.yaml --out out/replayed \\",
            "      --set matrices.recorded=out/fair/schedule-rate.json",
            "",
            "It is for reuse in another run: rate for a Base optimizer, effective (an angle)",
            "for a Hyperball."
        })
public final class ScheduleCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "RUN", description = "A finished run; steps between logged ones are interpolated.")
    private Path run;

    @Option(names = "--series", defaultValue = "rate", description = "rate or effective (default: ${DEFAULT-VALUE}).")
    private String series;

    @Option(names = "--out", paramLabel = "FILE", description = "A new file (default: RUN/schedule-SERIES.json).")
    private Path out;

    @Override
    public Integer call() {
        if (out != null && Files.exists(out)) {
            throw new Refusal(out + " is already there; choose another --out");
        }
        Path to = out == null ? run.resolve("schedule-" + series + ".json") : out;
        RecordedRates recorded = RecordedRates.of(new Run(run), series);
        recorded.write(to);
        PrintWriter print = spec.commandLine().getOut();
        print.println(to + ": " + series + " of " + recorded.rates().size() + " matrices over "
                + recorded.rates().values().iterator().next().size() + " steps"
                + (recorded.logged()
                                < recorded.rates().values().iterator().next().size()
                        ? ", of which " + recorded.logged() + " were logged; the others are interpolated"
                        : ""));
        print.flush();
        return Exit.FINE;
    }
}
