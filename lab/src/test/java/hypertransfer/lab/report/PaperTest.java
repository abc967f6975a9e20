package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.core.Refusal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PaperTest {
    /** It was waited for two minutes, without a word. */
    @Test
    void aBrowserThatHangsIsStopped(@TempDir Path dir) throws Exception {
        Path browser = Files.writeString(dir.resolve("browser"), "#!/bin/sh\nexec sleep 600\n");
        Files.setPosixFilePermissions(browser, PosixFilePermissions.fromString("rwx------"));
        Path page = Files.writeString(dir.resolve("page.html"), "<p>"), pdf = dir.resolve("page.pdf");
        assertThatThrownBy(() -> Paper.print(browser, Duration.ofSeconds(1), page, pdf))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("has not printed within 1 s and was stopped");
        assertThat(pdf).doesNotExist();
    }
}
