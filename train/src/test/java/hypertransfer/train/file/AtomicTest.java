package hypertransfer.train.file;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.MalformedInputException;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file is the old one or the new one, whatever happens meanwhile. */
class AtomicTest {
    @TempDir
    Path directory;

    @Test
    void whateverIsThrownTheOldFileStaysAndNothingElse() throws IOException {
        Path file = directory.resolve("a.json");
        Atomic.write(file, "old");
        Throwable[] failures = {new IOException("No space left on device"), new Refusal("no"), new OutOfMemoryError()};
        for (Throwable failure : failures) {
            assertThatThrownBy(() -> Atomic.write(file, channel -> {
                        channel.write(ByteBuffer.wrap(new byte[100]));
                        switch (failure) {
                            case IOException e -> throw e;
                            case RuntimeException e -> throw e;
                            default -> throw (Error) failure;
                        }
                    }))
                    .isInstanceOf(failure instanceof IOException ? UncheckedIOException.class : failure.getClass());
            assertThat(file).hasContent("old");
            assertThat(directory).isDirectoryNotContaining("glob:**.part");
        }
    }

    @Test
    void whatAKilledProcessLeftIsWrittenOver() throws IOException {
        Path file = directory.resolve("a.json");
        Files.writeString(directory.resolve("a.json.part"), "much longer than what is written now");
        Atomic.write(file, "new");
        assertThat(file).hasContent("new");
        assertThat(directory).isDirectoryNotContaining("glob:**.part");
    }

    /** Two reports with one name wrote into one file beside it, and one of them renamed the mixture. */
    @Test
    void aSecondWriterIsRefused() {
        Path file = directory.resolve("a.json");
        Atomic.write(file, channel -> {
            assertRefused(() -> Atomic.write(file, "of another"))
                    .hasMessage("another process is writing " + file + "; wait for it, or name another file");
            Atomic.writeFully(channel, ByteBuffer.wrap("mine".getBytes()));
        });
        assertThat(file).hasContent("mine");
    }

    /** Many of the JDK's messages are nothing but the file's name. */
    @Test
    void theReasonIsNotTheName() {
        assertThat(Atomic.reason(new AccessDeniedException("a/b"))).isEqualTo("permission denied");
        assertThat(Atomic.reason(new NoSuchFileException("a/b"))).isEqualTo("there is no such file or directory");
        assertThat(Atomic.reason(new FileSystemException("a/b", null, "Read-only file system")))
                .isEqualTo("Read-only file system");
        assertThat(Atomic.reason(new MalformedInputException(1))).isEqualTo("it is not UTF-8 text");
        assertThat(Atomic.reason(new IOException("No space left on device"))).isEqualTo("No space left on device");
    }
}
