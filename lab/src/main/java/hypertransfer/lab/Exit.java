package hypertransfer.lab;

/** The exit codes of every command. */
final class Exit {
    static final int FINE = 0;
    static final int CHECK_FAILED = 1;
    static final int BAD_INPUT = 2;
    static final int BUG = 70; // EX_SOFTWARE of sysexits.h
    static final int INTERRUPTED = 130; // what a shell reports for SIGINT

    private Exit() {}
}
