package hypertransfer.train.file;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Lets the disk begin with a large file while there is more to come, so that the flush at its end has little to do. */
final class Flushing implements Closeable {
    private static final long MUCH = 128 << 20;

    private final FileChannel channel;
    private CompletableFuture<Void> flush = CompletableFuture.completedFuture(null);
    private long written;

    Flushing(FileChannel channel) {
        this.channel = channel;
    }

    void wrote(long bytes) {
        written += bytes;
        if (written >= MUCH && flush.isDone()) {
            written = 0;
            // a thread of its own: the common pool may have one, which has checksums to compute
            flush = flush.thenRunAsync(
                    this::force, task -> Thread.ofPlatform().daemon().start(task));
        }
    }

    private void force() {
        try {
            channel.force(false);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Waits. A failure must be told here: a system tells it once, so a later flush may succeed. */
    @Override
    public void close() throws IOException {
        try {
            flush.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof UncheckedIOException io ? io.getCause() : new IOException(e.getCause());
        }
    }
}
