package hypertransfer.lab;

import hypertransfer.core.Refusal;
import hypertransfer.engine.EngineException;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Size;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.IExecutionExceptionHandler;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParseResult;
import picocli.CommandLine.UnmatchedArgumentException;

/** Turns whatever a command throws into one sentence on the error stream and an exit code. */
public final class Failure implements IParameterExceptionHandler, IExecutionExceptionHandler {
    private final PrintWriter err;
    private final boolean trace;

    Failure(PrintWriter err, boolean trace) {
        this.err = err;
        this.trace = trace;
    }

    @Override
    public int handleParseException(ParameterException e, String[] args) {
        if (e.getCause() instanceof Refusal refusal) { // a value that one of our own types refused
            return report(refusal);
        }
        String command = e.getCommandLine().getCommandSpec().qualifiedName(" ");
        String what = e instanceof UnmatchedArgumentException u ? unmatched(u) : lowerFirst(e.getMessage()) + ";";
        say(what + " '" + command + " --help' lists what there is", e);
        return Exit.BAD_INPUT;
    }

    @Override
    public int handleExecutionException(Exception e, CommandLine line, ParseResult result) {
        return e instanceof ParameterException p ? handleParseException(p, new String[0]) : report(e);
    }

    int report(Throwable t) {
        return switch (t) {
            case Refusal r -> say(r.getMessage(), r, Exit.BAD_INPUT);
            case EngineException e -> say(e.getMessage(), e, Exit.BAD_INPUT);
            case UncheckedIOException e -> say(e.getMessage(), e, Exit.BAD_INPUT);
            case InterruptedException i -> say("interrupted", i, Exit.INTERRUPTED);
            case OutOfMemoryError o ->
                say(
                        "out of memory (" + o.getMessage() + "), the heap's limit is "
                                + Size.of(Runtime.getRuntime().maxMemory())
                                + "; ask for less, or raise it with JDK_JAVA_OPTIONS=-Xmx8g",
                        o,
                        Exit.BAD_INPUT);
            default ->
                say(
                        "this is a bug: unexpected " + t
                                + (trace ? "" : "; HT_TRACE=1 prints the stack trace, please report it"),
                        t,
                        Exit.BUG);
        };
    }

    private int say(String sentence, Throwable t, int exit) {
        say(sentence, t);
        return exit;
    }

    private void say(String sentence, Throwable t) {
        err.println("ht: " + sentence.strip().replaceAll("\\s*\\R\\s*", " "));
        if (trace) {
            t.printStackTrace(err);
        }
        err.flush();
    }

    private static String unmatched(UnmatchedArgumentException e) {
        boolean commandExpected = !e.getCommandLine().getSubcommands().isEmpty();
        String kind =
                e.isUnknownOption() ? "unknown option" : commandExpected ? "unknown command" : "unexpected argument";
        List<String> similar = e.getSuggestions(); // the most similar first
        return kind + " '" + e.getUnmatched().getFirst() + "'"
                + (similar.isEmpty() ? ";" : ", did you mean '" + similar.getFirst() + "'?");
    }

    private static String lowerFirst(String s) {
        return Character.toLowerCase(s.charAt(0)) + s.substring(1);
    }
}
