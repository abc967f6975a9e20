package hypertransfer.lab.terminal;

import hypertransfer.core.Diverged;
import hypertransfer.core.Refusal;
import hypertransfer.engine.EngineException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.util.stream.Stream;

/** The exit codes of every command. */
public final class Exit {
    public static final int FINE = 0;
    public static final int CHECK_FAILED = 1;
    public static final int BAD_INPUT = 2;
    public static final int DIVERGED = 3;
    public static final int NO_ROOM = 4;
    public static final int NO_PERMISSION = 5;
    public static final int FILES = 6;
    public static final int BUG = 70; // EX_SOFTWARE of sysexits.h
    public static final int INTERRUPTED = 130; // what a shell reports for SIGINT

    private Exit() {}

    /** The code of a failure. */
    public static int of(Throwable failure) {
        return switch (failure) {
            case Diverged d -> DIVERGED;
            case Refusal r -> BAD_INPUT;
            case EngineException e -> BAD_INPUT;
            case UncheckedIOException e -> files(e.getCause());
            case OutOfMemoryError o -> NO_ROOM;
            case InterruptedException i -> INTERRUPTED;
            default -> BUG;
        };
    }

    /** The JDK has no type for a full disk, only the system's words. */
    private static int files(IOException e) {
        String words = String.valueOf(e.getMessage());
        boolean full = Stream.of("No space left", "quota", "File too large").anyMatch(words::contains);
        return full ? NO_ROOM : e instanceof AccessDeniedException ? NO_PERMISSION : FILES;
    }
}
