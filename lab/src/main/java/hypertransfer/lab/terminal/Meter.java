package hypertransfer.lab.terminal;

import hypertransfer.train.data.Tokenizer.Progress;
import java.io.PrintWriter;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

/** The progress of tokenizing: one live line on a terminal, else one line every few seconds. */
public final class Meter implements Consumer<Progress>, AutoCloseable {
    private static final int BAR = 24;

    private final PrintWriter err;
    private final boolean terminal;
    private final Width columns;
    private final LongSupplier nanos;
    private final long start;
    private long next;
    private Progress last;
    private int width;

    public Meter(PrintWriter err, boolean terminal, Width columns, LongSupplier nanos) {
        this.err = err;
        this.terminal = terminal;
        this.columns = columns;
        this.nanos = nanos;
        this.start = nanos.getAsLong();
        this.next = start + pause();
    }

    private long pause() {
        return terminal ? 100_000_000L : 5_000_000_000L;
    }

    @Override
    public void accept(Progress progress) {
        last = progress;
        if (nanos.getAsLong() - next >= 0) {
            print();
            next = nanos.getAsLong() + pause();
        }
    }

    private void print() {
        double seconds = Math.max(1e-9, (nanos.getAsLong() - start) * 1e-9);
        String line = columns.cut(line(last, seconds));
        if (terminal) {
            err.print('\r' + line + " ".repeat(Math.max(0, width - line.length())));
            width = line.length();
        } else {
            err.println(line);
        }
        err.flush();
    }

    public static String line(Progress p, double seconds) {
        String documents = String.format("%,d %s", p.documents(), p.documents() == 1 ? "document" : "documents");
        double speed = p.text() / 1e6 / seconds;
        String done = String.format("%s, %.1f M tokens, %.1f MB/s", documents, p.tokens() / 1e6, speed);
        if (p.total() == 0 || p.read() == 0) {
            return done;
        }
        double share = Math.min(1, (double) p.read() / p.total());
        int full = (int) (share * BAR);
        long left = Math.round(seconds * (1 - share) / share);
        return "[%s%s] %3d%%  %s, %d:%02d left"
                .formatted("#".repeat(full), "-".repeat(BAR - full), (int) (share * 100), done, left / 60, left % 60);
    }

    /** The last word, so that a short run has one as well. */
    @Override
    public void close() {
        if (last != null) {
            print();
            if (terminal) {
                err.println();
                err.flush();
            }
        }
    }
}
