package hypertransfer.lab.terminal;

/** The exit codes of every command. */
public final class Exit {
    public static final int FINE = 0;
    public static final int CHECK_FAILED = 1;
    public static final int BAD_INPUT = 2;
    public static final int BUG = 70; // EX_SOFTWARE of sysexits.h
    public static final int INTERRUPTED = 130; // what a shell reports for SIGINT

    private Exit() {}
}
