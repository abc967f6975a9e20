package hypertransfer.train.log;

import hypertransfer.core.Diverged;
import hypertransfer.core.Refusal;
import hypertransfer.engine.EngineException;
import hypertransfer.train.Word;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.ReadOnlyFileSystemException;
import java.util.stream.Stream;

/** Why a run failed. Only a divergence is a result; all others are worth another try. */
public enum FailureKind {
    DIVERGED,
    BAD_INPUT,
    NO_ROOM,
    NO_PERMISSION,
    NO_MEMORY,
    FILES,
    BUG;

    public static FailureKind of(Throwable failure) {
        return switch (failure) {
            case Diverged d -> DIVERGED;
            case Refusal r when r.getCause() instanceof IOException e && of(e) != FILES -> of(e);
            case Refusal r -> BAD_INPUT;
            case EngineException e -> BAD_INPUT;
            case UncheckedIOException e -> of(e.getCause());
            case AccessDeniedException e -> NO_PERMISSION;
            case ReadOnlyFileSystemException e -> NO_PERMISSION;
            case IOException e -> files(String.valueOf(e.getMessage()));
            case OutOfMemoryError e -> NO_MEMORY;
            default -> BUG;
        };
    }

    /** The JDK has no type for a full disk, only the system's words. */
    private static FailureKind files(String message) {
        return Stream.of("No space left", "quota", "not enough space", "File too large")
                        .anyMatch(message::contains)
                ? NO_ROOM
                : message.contains("ermission denied") || message.contains("Read-only") ? NO_PERMISSION : FILES;
    }

    /** As it is written. */
    public String label() {
        return Word.of(this).replace('-', ' ');
    }

    static FailureKind parse(String label) {
        return Word.find(FailureKind.class, label.replace(' ', '-')).orElse(null);
    }
}
