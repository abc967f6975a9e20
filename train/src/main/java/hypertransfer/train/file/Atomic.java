package hypertransfer.train.file;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;

/** Files that are there whole or not at all: written beside, flushed, renamed. */
public final class Atomic {
    private Atomic() {}

    public interface Writing {
        void to(FileChannel channel) throws IOException;
    }

    public static void write(Path file, Writing writing) {
        Path beside = file.resolveSibling(file.getFileName() + ".part");
        try {
            try (FileChannel channel = FileChannel.open(
                    beside,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.READ,
                    StandardOpenOption.WRITE,
                    StandardOpenOption.TRUNCATE_EXISTING)) {
                writing.to(channel);
                channel.force(true);
            }
            Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            force(file.toAbsolutePath().getParent());
        } catch (IOException e) {
            deleteQuietly(beside);
            throw new UncheckedIOException("cannot write " + file + ": " + reason(e), e);
        }
    }

    public static void write(Path file, String text) {
        write(file, channel -> writeFully(channel, ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8))));
    }

    /** What went wrong, without the file's name: many of the JDK's messages are nothing but the name. */
    public static String reason(IOException e) {
        return switch (e) {
            case NoSuchFileException none -> "there is no such file or directory";
            case AccessDeniedException denied -> "permission denied";
            case FileAlreadyExistsException there -> "a file of that name is in the way";
            case DirectoryNotEmptyException full -> "the directory is not empty";
            case FileSystemException f when f.getReason() != null -> f.getReason();
            default -> e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        };
    }

    public static void writeFully(FileChannel channel, ByteBuffer bytes) throws IOException {
        while (bytes.hasRemaining()) {
            channel.write(bytes);
        }
    }

    /** Makes the rename itself last. Not every system lets a directory be opened; durability is then up to the file system. */
    public static void force(Path directory) {
        try (FileChannel channel = FileChannel.open(directory)) {
            channel.force(true);
        } catch (IOException e) {
            System.getLogger(Atomic.class.getName())
                    .log(System.Logger.Level.DEBUG, "cannot flush directory " + directory, e);
        }
    }

    /** A leftover .part file is harmless; the error that led here is the one to tell. */
    private static void deleteQuietly(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            System.getLogger(Atomic.class.getName()).log(System.Logger.Level.DEBUG, "cannot delete " + file, e);
        }
    }
}
