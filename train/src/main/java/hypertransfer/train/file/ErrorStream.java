package hypertransfer.train.file;

import hypertransfer.engine.foreign.Functions;

/** The standard error, which the launcher {@code ht} leads through a pipe until the command line runs. */
public final class ErrorStream {
    private static final int STANDARD_ERROR = 2;

    private ErrorStream() {}

    /** Takes it back from the file descriptor under which the launcher kept it; nothing is done without a launcher. */
    public static void restore() {
        Integer kept = Integer.getInteger("ht.stderr");
        if (kept == null) {
            return;
        }
        // Where it fails, the pipe stays, and hands on what is written.
        Functions.system().call("dup2", kept, STANDARD_ERROR);
    }
}
