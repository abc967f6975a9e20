package hypertransfer.lab.terminal;

import hypertransfer.train.log.FailureKind;

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

    public static int of(Throwable failure) {
        return failure instanceof InterruptedException
                ? INTERRUPTED
                : switch (FailureKind.of(failure)) {
                    case DIVERGED -> DIVERGED;
                    case BAD_INPUT -> BAD_INPUT;
                    case NO_ROOM, NO_MEMORY -> NO_ROOM;
                    case NO_PERMISSION -> NO_PERMISSION;
                    case FILES -> FILES;
                    case BUG -> BUG;
                };
    }
}
