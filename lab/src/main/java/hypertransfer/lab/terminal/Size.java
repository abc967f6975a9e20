package hypertransfer.lab.terminal;

import java.util.Locale;

/** Bytes as people read them. */
public final class Size {
    private Size() {}

    public static String of(long bytes) {
        double gib = bytes / (double) (1L << 30);
        return gib >= 0.1
                ? String.format(Locale.ROOT, "%.1f GiB", gib)
                : String.format(Locale.ROOT, "%.1f MiB", bytes / (double) (1L << 20));
    }
}
