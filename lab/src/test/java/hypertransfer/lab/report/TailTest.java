package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TailTest {
    @TempDir
    Path folder;

    private Path file;
    private Tail tail;

    @BeforeEach
    void open() {
        file = folder.resolve("metrics.jsonl");
        tail = new Tail(file);
    }

    @Test
    void aFileThatIsNotThereYetHasNoLines() throws IOException {
        assertThat(tail.read()).isEmpty();
        assertThat(tail.cut()).isFalse();
        append("one\n");
        assertThat(tail.read()).extracting(Tail.Entry::text).containsExactly("one");
    }

    @Test
    void aHalfWrittenLineWaitsForItsRest() throws IOException {
        append("one\ntw");
        assertThat(tail.read()).extracting(Tail.Entry::text).containsExactly("one");
        assertThat(tail.halfLine()).isTrue();
        assertThat(tail.next()).isEqualTo(file + ", line 2");
        append("o\nthree\n");
        assertThat(tail.read())
                .containsExactly(new Tail.Entry("two", file + ", line 2"), new Tail.Entry("three", file + ", line 3"));
        assertThat(tail.halfLine()).isFalse();
        assertThat(tail.read()).isEmpty();
    }

    @Test
    void aCutFileIsNoticedAlsoWhenItHasGrownAgain() throws IOException {
        append("one\ntwo\nthree\n");
        tail.read();
        assertThat(tail.cut()).isFalse();
        Files.writeString(file, "one\n");
        assertThat(tail.cut()).isTrue();
        Files.writeString(file, "one\ntwo\nTHREE\nfour\n");
        assertThat(tail.cut()).isTrue();
        tail.rewind();
        assertThat(tail.read()).extracting(Tail.Entry::text).containsExactly("one", "two", "THREE", "four");
        Files.delete(file);
        assertThat(tail.cut()).isTrue();
    }

    private void append(String text) throws IOException {
        Files.writeString(file, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
