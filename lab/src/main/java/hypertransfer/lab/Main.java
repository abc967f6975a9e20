package hypertransfer.lab;

import hypertransfer.lab.certify.CertifyCommand;
import hypertransfer.lab.command.CompletionCommand;
import hypertransfer.lab.command.DemoCommand;
import hypertransfer.lab.command.ExportCommand;
import hypertransfer.lab.command.ImportCommand;
import hypertransfer.lab.command.InvarianceCommand;
import hypertransfer.lab.command.PageCommand;
import hypertransfer.lab.command.PresetsCommand;
import hypertransfer.lab.command.ReportCommand;
import hypertransfer.lab.command.ReproduceCommand;
import hypertransfer.lab.command.RunsCommand;
import hypertransfer.lab.command.SampleCommand;
import hypertransfer.lab.command.SweepCommand;
import hypertransfer.lab.command.TrainCommand;
import hypertransfer.lab.command.TransferCommand;
import hypertransfer.lab.command.VerifyCommand;
import hypertransfer.lab.command.WatchCommand;
import hypertransfer.lab.command.data.DataCommand;
import hypertransfer.lab.command.machine.BenchCommand;
import hypertransfer.lab.command.machine.ConformanceCommand;
import hypertransfer.lab.command.machine.DoctorCommand;
import hypertransfer.lab.command.machine.SelfTestCommand;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.compare.CompareCommand;
import hypertransfer.lab.compare.FairCommand;
import hypertransfer.lab.effective.EffectiveCommand;
import hypertransfer.lab.effective.ScheduleCommand;
import hypertransfer.lab.experiment.Version;
import hypertransfer.lab.predict.PredictCommand;
import hypertransfer.lab.predict.RatesCommand;
import hypertransfer.lab.terminal.Ink;
import hypertransfer.lab.terminal.Width;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.stream.Stream;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.UsageMessageSpec;
import picocli.CommandLine.Spec;

/** The command line. Every command is a class of its own, listed here. */
@Command(
        name = "ht",
        description = "Exact, online maps between norm-constrained and ordinary neural-network optimizers.",
        synopsisSubcommandLabel = "COMMAND",
        versionProvider = Main.class,
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
            "disk or in memory, 5 no permission, 6 another error with files, 70 a bug,",
            "130 interrupted.",
            "HT_TRACE=1 in the environment adds the stack trace to an error; HT_THREADS=2",
            "limits the cpu engine. docs/USE.md lists all such variables."
        })
public final class Main implements Runnable, IVersionProvider {
    /** Commands that are for one purpose, as the help lists them. */
    private record Group(String name, Class<?>... commands) {}

    private static final List<Group> GROUPS = List.of(
            new Group("Start", DemoCommand.class, DoctorCommand.class, PresetsCommand.class),
            new Group(
                    "Train",
                    TrainCommand.class,
                    TransferCommand.class,
                    SweepCommand.class,
                    ReproduceCommand.class,
                    DataCommand.class),
            new Group(
                    "Look",
                    RunsCommand.class,
                    ReportCommand.class,
                    WatchCommand.class,
                    CompareCommand.class,
                    FairCommand.class,
                    SampleCommand.class,
                    ExportCommand.class),
            new Group(
                    "Answers without a run",
                    PageCommand.class,
                    PredictCommand.class,
                    RatesCommand.class,
                    EffectiveCommand.class,
                    ScheduleCommand.class,
                    InvarianceCommand.class),
            new Group(
                    "Verify",
                    VerifyCommand.class,
                    CertifyCommand.class,
                    SelfTestCommand.class,
                    ConformanceCommand.class,
                    BenchCommand.class),
            new Group("Other", CompletionCommand.class, ImportCommand.class, CommandLine.HelpCommand.class));

    private static final int NAME = 15; // the width of their column

    /** These look at all the others. */
    private static final Set<String> ABOUT_ALL = Set.of("help", "completion");

    @Spec
    private CommandSpec spec;

    public static void main(String[] args) {
        var answer = new Answer(new FileOutputStream(FileDescriptor.out));
        var out = new PrintWriter(answer, true, Charset.forName(System.getProperty("stdout.encoding", "UTF-8")));
        var err = new PrintWriter(System.err, true);
        System.exit(answer.checked(run(out, err, System.getenv("HT_TRACE") != null, args), err));
    }

    /** Runs one command and returns its exit code; {@code trace} prints the stack trace of a failure. */
    static int run(PrintWriter out, PrintWriter err, boolean trace, String... args) {
        CommandLine line = commands(args);
        boolean known = args.length == 0
                || args[0].startsWith("-")
                || line.getSubcommands().containsKey(args[0]);
        // behind an unknown command --help would show the help of all
        return execute(line, out, err, trace, known ? args : new String[] {args[0]});
    }

    /** The command that the arguments begin with, or else all: reading the options of all takes as long as a short command. */
    static CommandLine commands(String... args) {
        CommandLine line = new CommandLine(new Main());
        List<Class<?>> all = GROUPS.stream()
                .<Class<?>>flatMap(group -> Stream.of(group.commands))
                .toList();
        List<Class<?>> named = args.length == 0 || ABOUT_ALL.contains(args[0])
                ? List.of()
                : all.stream().filter(type -> name(type).equals(args[0])).toList();
        (named.isEmpty() ? all : named).stream().map(CommandLine::new).forEach(line::addSubcommand);
        line.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING, help -> "");
        line.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST, Main::list);
        Options.in(line);
        return line;
    }

    private static String name(Class<?> command) {
        return command.getAnnotation(Command.class).name();
    }

    /** The commands by what they are for, each with the first sentence about it. */
    private static String list(Help help) {
        Width width = new Width(help.commandSpec().usageMessage().width() + 1);
        StringBuilder text = new StringBuilder();
        for (Group group : GROUPS) {
            text.append("%n%s%n".formatted(help.colorScheme().ansi().string("@|bold " + group.name + "|@")));
            for (Class<?> command : group.commands) {
                String name = name(command);
                String about = name.equals("help")
                        ? "Shows the help of a command."
                        : command.getAnnotation(Command.class).description()[0].split("(?<=\\.) ")[0];
                text.append("  " + help.colorScheme().commandText(name))
                        .append(" ".repeat(Math.max(1, NAME - 2 - name.length())))
                        .append(width.fold(" ".repeat(NAME) + about, NAME).strip())
                        .append(System.lineSeparator());
            }
        }
        return text.toString();
    }

    static int execute(CommandLine line, PrintWriter out, PrintWriter err, boolean trace, String... args) {
        Locale.setDefault(Locale.ROOT); // numbers look the same everywhere, also to programs that read them
        var failure = new Failure(err, trace);
        line.setOut(out)
                .setErr(err)
                .setColorScheme(Help.defaultColorScheme(Ink.here() ? Ansi.ON : Ansi.OFF))
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
    public String[] getVersion() {
        return new String[] {Version.built().toString()};
    }

    @Override
    public void run() {
        spec.commandLine().usage(spec.commandLine().getOut());
    }
}
