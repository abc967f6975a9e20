package hypertransfer.lab;

import java.io.IOException;
import java.io.OutputStream;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.charset.Charset;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The file system as the commands of {@link Shim} see it: the process ends before some operation
 * that changes it, or within a write. Nothing happens after that end, whatever the code does on its way out: as after kill -9.
 */
public final class Disk {
    /** The process ends here. */
    static final class Halt extends RuntimeException {
        Halt() {
            super("killed", null, false, false);
        }
    }

    /** The operations that change something: the process may end before each of them. */
    static final Set<String> CHANGES =
            Set.of(("Files.move Files.copy Files.delete Files.deleteIfExists Files.createDirectories"
                            + " FileChannel.truncate")
                    .split(" "));

    /** Those of which more must be known: each is a method here. */
    static final Set<String> LED =
            Set.of(("FileChannel.open FileChannel.write FileChannel.transferTo FileChannel.force Files.newOutputStream"
                            + " Channels.newWriter")
                    .split(" "));

    private static final List<FileChannel> OPEN = new ArrayList<>();
    private static final Set<FileChannel> FOLDERS = ConcurrentHashMap.newKeySet();
    private static String failure; // of every folder that is flushed, or null
    private static long operations = Long.MAX_VALUE; // that are left
    private static long done;

    private Disk() {}

    /** The process ends after so many more operations. */
    static void halts(long after) {
        reset();
        operations = after;
    }

    /** To flush a folder fails with this message from now on. */
    static void breaks(String message) {
        reset();
        failure = message;
    }

    /** Without an end again; whatever a process has open is closed with it. Returns how many operations there were. */
    static long reset() {
        for (FileChannel channel : OPEN) {
            try {
                channel.close();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
        OPEN.clear();
        FOLDERS.clear();
        failure = null;
        operations = Long.MAX_VALUE;
        long all = done;
        done = 0;
        return all;
    }

    /** Whether the process has ended. */
    static boolean halted() {
        return operations < 0;
    }

    /** Comes before each operation. */
    public static void operation() {
        done++;
        if (operations <= 0) {
            operations = -1;
            throw new Halt();
        }
        operations--;
    }

    public static FileChannel open(Path file, OpenOption... options) throws IOException {
        boolean writes = List.of(options).contains(StandardOpenOption.WRITE)
                || List.of(options).contains(StandardOpenOption.APPEND);
        if (!writes) {
            FileChannel channel = FileChannel.open(file, options);
            if (Files.isDirectory(file)) {
                FOLDERS.add(channel);
            }
            return channel;
        }
        operation();
        FileChannel channel = FileChannel.open(file, options);
        OPEN.add(channel);
        return channel;
    }

    public static OutputStream newOutputStream(Path file, OpenOption... options) throws IOException {
        return Channels.newOutputStream(new Bent(
                open(file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)));
    }

    public static Writer newWriter(WritableByteChannel channel, Charset charset) {
        return Channels.newWriter(new Bent((FileChannel) channel), charset);
    }

    /** The last write gets half of its bytes onto the disk. */
    public static int write(FileChannel channel, ByteBuffer source) throws IOException {
        if (operations == 0) {
            channel.write(source.slice(source.position(), source.remaining() / 2));
        }
        operation();
        return channel.write(source);
    }

    public static void force(FileChannel channel, boolean all) throws IOException {
        operation();
        if (failure != null && FOLDERS.contains(channel)) {
            throw new IOException(failure);
        }
        channel.force(all);
    }

    public static long transferTo(FileChannel from, long position, long count, WritableByteChannel to)
            throws IOException {
        if (operations == 0) {
            from.transferTo(position, count / 2, to);
        }
        operation();
        return from.transferTo(position, count, to);
    }

    /** A channel for classes of Java's own, whose calls stay as they are. */
    private record Bent(FileChannel channel) implements WritableByteChannel {
        @Override
        public int write(ByteBuffer source) throws IOException {
            return Disk.write(channel, source);
        }

        @Override
        public boolean isOpen() {
            return channel.isOpen();
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
