package hypertransfer.lab;

import hypertransfer.lab.command.CompletionCommand;
import hypertransfer.lab.command.DemoCommand;
import hypertransfer.lab.command.ExportCommand;
import hypertransfer.lab.command.ImportCommand;
import hypertransfer.lab.command.InvarianceCommand;
import hypertransfer.lab.command.PresetsCommand;
import hypertransfer.lab.command.ReportCommand;
import hypertransfer.lab.command.ReproduceCommand;
import hypertransfer.lab.command.RunsCommand;
import hypertransfer.lab.command.SampleCommand;
import hypertransfer.lab.command.SweepCommand;
import hypertransfer.lab.command.TrainCommand;
import hypertransfer.lab.command.TransferCommand;
import hypertransfer.lab.command.WatchCommand;
import hypertransfer.lab.command.answer.CompareCommand;
import hypertransfer.lab.command.answer.EffectiveCommand;
import hypertransfer.lab.command.answer.PredictCommand;
import hypertransfer.lab.command.answer.RatesCommand;
import hypertransfer.lab.command.answer.ScheduleCommand;
import hypertransfer.lab.command.data.DataCommand;
import hypertransfer.lab.command.machine.BenchCommand;
import hypertransfer.lab.command.machine.ConformanceCommand;
import hypertransfer.lab.command.machine.DoctorCommand;
import hypertransfer.lab.command.machine.SelfTestCommand;
import hypertransfer.lab.command.option.Labels;
import hypertransfer.lab.experiment.Version;
import hypertransfer.lab.terminal.Groups;
import hypertransfer.lab.terminal.Ink;
import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** The command line. Every command is a class of its own, listed here. */
@Command(
        name = "ht",
        description = "Exact, online maps between norm-constrained and ordinary neural-network optimizers.",
        synopsisSubcommandLabel = "COMMAND",
        versionProvider = Version.Provider.class,
        mixinStandardHelpOptions = true,
        scope = CommandLine.ScopeType.INHERIT,
        footerHeading = "%nExamples:%n",
        footer = {
            "  ht demo                                    the first experiment, in minutes",
            "  ht train runs/muon.yaml                    one run; again to continue it",
            "  ht transfer out/muon --mode hypertransfer  the same curve in another space",
            "  ht reproduce exp1                          an experiment of the paper",
            "  ht doctor                                  which engines work here",
            "  ht help train                              the options of one command",
            "",
            "Exit codes: 0 success, 1 a check failed, 2 bad input, 3 diverged, 4 no room on",
            "disk or in memory, 5 no permission, 6 other trouble with files, 70 a bug,",
            "130 interrupted.",
            "HT_TRACE=1 in the environment adds the stack trace to an error; HT_THREADS=2",
            "limits the cpu engine. docs/USE.md lists all such variables."
        })
public final class Main implements Runnable {
    private static final List<Class<?>> COMMANDS = List.of(
            BenchCommand.class,
            CompareCommand.class,
            CompletionCommand.class,
            ConformanceCommand.class,
            DataCommand.class,
            DemoCommand.class,
            DoctorCommand.class,
            EffectiveCommand.class,
            ExportCommand.class,
            ImportCommand.class,
            InvarianceCommand.class,
            PredictCommand.class,
            PresetsCommand.class,
            RatesCommand.class,
            ReportCommand.class,
            ReproduceCommand.class,
            RunsCommand.class,
            SampleCommand.class,
            ScheduleCommand.class,
            SelfTestCommand.class,
            SweepCommand.class,
            TrainCommand.class,
            TransferCommand.class,
            WatchCommand.class,
            CommandLine.HelpCommand.class);

    /** These look at all the others. */
    private static final Set<String> ABOUT_ALL = Set.of("help", "completion");

    @Spec
    private CommandSpec spec;

    public static void main(String[] args) {
        Locale.setDefault(Locale.ROOT); // numbers look the same everywhere, also to programs that read them
        var out = new PrintWriter(System.out, true);
        var err = new PrintWriter(System.err, true);
        System.exit(run(out, err, System.getenv("HT_TRACE") != null, args));
    }

    /** Runs one command and returns its exit code; {@code trace} prints the stack trace of a failure. */
    static int run(PrintWriter out, PrintWriter err, boolean trace, String... args) {
        return execute(commands(args), out, err, trace, args);
    }

    /**
     * The command that the arguments begin with; all of them, listed by what they are for, where they begin otherwise. To
     * look at the options of all takes longer than most commands.
     */
    static CommandLine commands(String... args) {
        CommandLine line = new CommandLine(new Main());
        List<Class<?>> named = args.length == 0 || ABOUT_ALL.contains(args[0])
                ? List.of()
                : COMMANDS.stream().filter(c -> name(c).equals(args[0])).toList();
        (named.isEmpty() ? COMMANDS : named).forEach(command -> line.addSubcommand(new CommandLine(command)));
        Groups.in(line);
        Labels.in(line);
        return line;
    }

    private static String name(Class<?> command) {
        return command.getAnnotation(Command.class).name();
    }

    static int execute(CommandLine line, PrintWriter out, PrintWriter err, boolean trace, String... args) {
        var failure = new Failure(err, trace);
        line.setOut(out)
                .setErr(err)
                .setColorScheme(CommandLine.Help.defaultColorScheme(Ink.here() ? Ansi.ON : Ansi.OFF))
                .setExpandAtFiles(false) // an argument that starts with @ is that argument
                .setParameterExceptionHandler(failure)
                .setExecutionExceptionHandler(failure);
        try {
            return line.execute(args);
        } catch (Error e) { // picocli hands on exceptions only; an OutOfMemoryError deserves a sentence too
            return failure.report(e);
        } finally {
            out.flush();
            err.flush();
        }
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
