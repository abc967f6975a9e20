package hypertransfer.lab;

import java.util.Locale;

/** Bytes as people read them. */
final class Size {
    private Size() {}

    static String of(long bytes) {
        double gib = bytes / (double) (1L << 30);
        return gib >= 0.1
                ? String.format(Locale.ROOT, "%.1f GiB", gib)
                : String.format(Locale.ROOT, "%.1f MiB", bytes / (double) (1L << 20));
    }
}
