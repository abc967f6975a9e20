package hypertransfer.lab;

import hypertransfer.core.Refusal;
import hypertransfer.engine.EngineException;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Ink;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Nearest;
import hypertransfer.train.file.Atomic;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** Turns whatever a command throws into one sentence on the error stream and an exit code. */
record Failure(PrintWriter err, boolean trace) implements IParameterExceptionHandler, IExecutionExceptionHandler {
    @Override
    public int handleParseException(ParameterException e, String[] args) {
        if (e.getCause() instanceof Refusal refusal) { // a value that one of our own types refused
            return report(refusal);
        }
        String command = e.getCommandLine().getCommandSpec().qualifiedName(" ");
        String what = e instanceof UnmatchedArgumentException u ? unmatched(u) : plain(e.getMessage()) + ";";
        return say(oneLine(what) + " run '" + command + " --help' for the commands and options", e, Exit.BAD_INPUT);
    }

    @Override
    public int handleExecutionException(Exception e, CommandLine line, ParseResult result) {
        return e instanceof ParameterException p ? handleParseException(p, new String[0]) : report(e);
    }

    int report(Throwable t) {
        String sentence = switch (t) {
            case UncheckedIOException u
            when u.getCause() instanceof FileSystemException f && f.toString().equals(u.getMessage()) ->
                "cannot read " + f.getFile() + ": " + Atomic.reason(f); // inside a folder that the JDK lists
            case Refusal _, UncheckedIOException _ -> oneLine(t.getMessage());
            case EngineException e -> e.getMessage(); // may begin with the table of memory
            case InterruptedException i -> "interrupted";
            case OutOfMemoryError o ->
                "out of memory (" + o.getMessage() + "), the heap's limit is "
                        + Width.size(Runtime.getRuntime().maxMemory())
                        + "; ask for less, or raise it with JDK_JAVA_OPTIONS=-Xmx8g";
            default ->
                "this is a bug: unexpected " + oneLine(t.toString())
                        + (trace ? "" : "; HT_TRACE=1 prints the stack trace, please report it");
        };
        return say(sentence, t, Exit.of(t));
    }

    private int say(String text, Throwable t, int exit) {
        err.println(Ink.RED.on("ht:") + Width.here().fold("ht: " + text, 4).substring(3));
        if (trace) {
            t.printStackTrace(err);
        }
        err.flush();
        return exit;
    }

    private static String oneLine(String text) {
        return text.strip().replaceAll("\\s*\\R\\s*", " ");
    }

    private static String unmatched(UnmatchedArgumentException e) {
        CommandLine line = e.getCommandLine();
        Set<String> known = e.isUnknownOption()
                ? line.getCommandSpec().optionsMap().keySet()
                : line.getSubcommands().keySet();
        String kind =
                e.isUnknownOption() ? "unknown option" : known.isEmpty() ? "unexpected argument" : "unknown command";
        String word = e.getUnmatched().getFirst();
        return kind + " '" + word + "'"
                + Nearest.of(word, known)
                        .map(nearest -> ", did you mean '" + nearest + "'?")
                        .orElse(";");
    }

    /** Picocli's sentence without the names of Java's types. */
    private static String plain(String s) {
        return Character.toLowerCase(s.charAt(0))
                + s.substring(1)
                        .replaceFirst("is not an? (int|long)$", "is not a whole number, or too large")
                        .replaceFirst("is not a double$", "is not a number")
                        .replaceFirst("subcommand ('.*')\\.$", "command $1");
    }
}
