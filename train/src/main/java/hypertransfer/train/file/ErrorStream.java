package hypertransfer.train.file;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

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
        Linker linker = Linker.nativeLinker();
        MethodHandle dup2 = linker.downcallHandle(
                linker.defaultLookup().findOrThrow("dup2"),
                FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT));
        try {
            // Where it fails, the pipe stays, and hands on what is written.
            int ignored = (int) dup2.invokeExact((int) kept, STANDARD_ERROR);
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }
}
