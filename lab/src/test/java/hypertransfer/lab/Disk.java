package hypertransfer.lab;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.CopyOption;
import java.nio.file.Files;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

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

    /** The operations that change something; {@code open} where its options say so. */
    static final Set<String> CHANGES =
            Set.of("open", "newOutputStream", "move", "copy", "delete", "deleteIfExists", "createDirectories");

    private static final List<FileChannel> OPEN = new ArrayList<>();
    private static long operations = Long.MAX_VALUE; // that are left
    private static long done;

    private Disk() {}

    /** The process ends after so many more operations. */
    static void halts(long after) {
        reset();
        operations = after;
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
        operations = Long.MAX_VALUE;
        long all = done;
        done = 0;
        return all;
    }

    /** Whether the process has ended. */
    static boolean halted() {
        return operations < 0;
    }

    private static void operation() {
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
            return FileChannel.open(file, options);
        }
        operation();
        FileChannel channel = new Shimmed(FileChannel.open(file, options));
        OPEN.add(channel);
        return channel;
    }

    public static OutputStream newOutputStream(Path file, OpenOption... options) throws IOException {
        return Channels.newOutputStream(
                open(file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE));
    }

    public static Path move(Path from, Path to, CopyOption... options) throws IOException {
        operation();
        return Files.move(from, to, options);
    }

    public static Path copy(Path from, Path to, CopyOption... options) throws IOException {
        operation();
        return Files.copy(from, to, options);
    }

    public static void delete(Path file) throws IOException {
        operation();
        Files.delete(file);
    }

    public static boolean deleteIfExists(Path file) throws IOException {
        operation();
        return Files.deleteIfExists(file);
    }

    public static Path createDirectories(Path directory, FileAttribute<?>... attributes) throws IOException {
        operation();
        return Files.createDirectories(directory, attributes);
    }

    /** A channel to such a disk. */
    private static final class Shimmed extends FileChannel {
        private final FileChannel channel;

        private Shimmed(FileChannel channel) {
            this.channel = channel;
        }

        /** The last write gets half of its bytes onto the disk. */
        @Override
        public int write(ByteBuffer source) throws IOException {
            if (operations == 0) {
                int limit = source.limit();
                source.limit(source.position() + source.remaining() / 2);
                channel.write(source);
                source.limit(limit);
            }
            operation();
            return channel.write(source);
        }

        @Override
        public int write(ByteBuffer source, long position) throws IOException {
            channel.position(position);
            return write(source);
        }

        @Override
        public long write(ByteBuffer[] sources, int offset, int length) throws IOException {
            long written = 0;
            for (int i = offset; i < offset + length; i++) {
                written += write(sources[i]);
            }
            return written;
        }

        @Override
        public void force(boolean all) throws IOException {
            operation();
            channel.force(all);
        }

        @Override
        public FileChannel truncate(long size) throws IOException {
            operation();
            channel.truncate(size);
            return this;
        }

        @Override
        public long transferTo(long position, long count, WritableByteChannel target) throws IOException {
            return channel.transferTo(position, count, target);
        }

        @Override
        public long transferFrom(ReadableByteChannel source, long position, long count) throws IOException {
            operation();
            return channel.transferFrom(source, position, count);
        }

        @Override
        public int read(ByteBuffer target) throws IOException {
            return channel.read(target);
        }

        @Override
        public int read(ByteBuffer target, long position) throws IOException {
            return channel.read(target, position);
        }

        @Override
        public long read(ByteBuffer[] targets, int offset, int length) throws IOException {
            return channel.read(targets, offset, length);
        }

        @Override
        public long position() throws IOException {
            return channel.position();
        }

        @Override
        public FileChannel position(long position) throws IOException {
            channel.position(position);
            return this;
        }

        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public MappedByteBuffer map(MapMode mode, long position, long size) throws IOException {
            return channel.map(mode, position, size);
        }

        @Override
        public FileLock lock(long position, long size, boolean shared) throws IOException {
            return channel.lock(position, size, shared);
        }

        @Override
        public FileLock tryLock(long position, long size, boolean shared) throws IOException {
            return channel.tryLock(position, size, shared);
        }

        @Override
        protected void implCloseChannel() throws IOException {
            channel.close();
        }
    }
}
