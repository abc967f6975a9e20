package hypertransfer.train.file;

import hypertransfer.core.Refusal;
import java.io.CharConversionException;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** Files that are there whole or not at all: written beside, flushed, renamed. */
public final class Atomic {
    private Atomic() {}

    public interface Writing {
        void to(FileChannel channel) throws IOException;
    }

    public interface Work<T> {
        T run() throws IOException;
    }

    /** Does something to a file; where it fails, says what could not be done to which file, and why. */
    public static <T> T told(String what, Path file, Work<T> work) {
        try {
            return work.run();
        } catch (IOException e) {
            throw failed(what, file, e);
        }
    }

    /** What could not be done to which file, and why. */
    public static UncheckedIOException failed(String what, Path file, IOException e) {
        return new UncheckedIOException("cannot " + what + " " + file + ": " + reason(e), e);
    }

    /** Closes a file in the same way. */
    public static void close(Path file, Closeable open) {
        told("close", file, () -> {
            open.close();
            return null;
        });
    }

    /** What this process is writing. */
    private static final Set<Path> WRITING = ConcurrentHashMap.newKeySet();

    static { // Ctrl-C leaves nothing beside
        try {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> WRITING.forEach(Atomic::deleteQuietly)));
        } catch (IllegalStateException e) { // the process is ending already: nothing is written any more
        }
    }

    /** A file that the user names, in a folder that is made if it is not there. */
    public static Path placed(Path file) {
        Path folder = file.toAbsolutePath().getParent();
        if (folder == null) {
            throw new Refusal(file + " is not a file; give one, such as out/mine");
        }
        told("write", file, () -> Files.createDirectories(folder));
        return file;
    }

    /**
     * Writes a file, or leaves the one that is there; whatever is thrown, nothing is left beside it. The cause of the
     * refusal of a second writer is an {@link OverlappingFileLockException}.
     */
    public static void write(Path file, Writing writing) {
        create(file, null, writing);
    }

    /**
     * Writes a new file. One that is there with the same bytes is taken for it, so that a command that was ended between
     * two files can be given again; any other is refused.
     *
     * @param option what the user can choose another file with; null where any file is replaced
     */
    public static void create(Path file, String option, Writing writing) {
        Path beside = file.resolveSibling(file.getFileName() + ".part");
        try (Hold hold = Hold.of(beside, () -> inUse(file))) { // two processes must not write one file between them
            WRITING.add(beside);
            try {
                hold.channel().truncate(0); // a killed process may have left it
                writing.to(hold.channel());
                hold.channel().force(true);
                if (option != null && Files.exists(file) && Files.mismatch(beside, file) >= 0) {
                    throw new Refusal(file + " is already there; choose another " + option);
                }
                Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            } catch (IOException | RuntimeException | Error e) {
                deleteQuietly(beside);
                throw e;
            } finally {
                WRITING.remove(beside);
            }
            force(file.toAbsolutePath().getParent());
        } catch (IOException e) {
            throw failed("write", file, e);
        }
    }

    private static Refusal inUse(Path file) {
        return new Refusal(
                "another process is writing " + file + "; wait for it, or name another file",
                new OverlappingFileLockException());
    }

    public static void write(Path file, String text) {
        write(file, text(text));
    }

    public static Writing text(String text) {
        return channel -> writeFully(channel, ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
    }

    /** What went wrong, without the file's name: many of the JDK's messages are nothing but the name. */
    public static String reason(IOException e) {
        return switch (e) {
            case NoSuchFileException none -> "there is no such file or directory";
            case AccessDeniedException denied -> "permission denied";
            case FileAlreadyExistsException there -> "a file of that name is in the way";
            case CharacterCodingException text -> "it is not UTF-8 text";
            case CharConversionException text -> "it is not UTF-8 text";
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

    /**
     * Makes the rename itself last. Not every system lets a directory be opened or flushed; durability is then up to the
     * file system. A disk that fails is told.
     */
    public static void force(Path directory) {
        try (FileChannel channel = FileChannel.open(directory)) {
            channel.force(true);
        } catch (IOException e) {
            if ("Input/output error".equals(e.getMessage())) {
                throw failed("flush", directory, e);
            }
            System.getLogger(Atomic.class.getName())
                    .log(System.Logger.Level.DEBUG, "cannot flush directory " + directory, e);
        }
    }

    /** What tells a file from another one of the same name, and from none. */
    public static Object identity(Path file) {
        try {
            return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
        } catch (IOException e) {
            return new Object();
        }
    }

    /** Refuses a pipe or a device: to open one may wait for ever. */
    public static void requireRegular(Path file) {
        if (Files.exists(file) && !Files.isRegularFile(file) && !Files.isDirectory(file)) {
            throw new Refusal(file + " is not a regular file, so it cannot be read; give a file, or remove it");
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
