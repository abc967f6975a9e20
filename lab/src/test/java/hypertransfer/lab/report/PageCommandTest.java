package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.Child;
import hypertransfer.lab.Ht;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code ht page}: where it writes, and what it opens. */
class PageCommandTest {
    @TempDir
    Path folder;

    @Test
    void aFileIsWrittenWhole() throws Exception {
        Path file = folder.resolve("deep/rates.html");
        assertThat(new Ht().fine("page", "--out", file))
                .isEqualTo("the page: " + file.toUri() + System.lineSeparator());
        assertThat(Files.readString(file)).startsWith("<!doctype html>").endsWith("</html>\n");
        assertThat(Files.size(file)).isLessThan(600_000);
        assertThat(new Ht().refused("page --out /")).contains("--out is '/'");
        // it was exit code 6, "cannot write: Is a directory"
        assertThat(new Ht().refused("page", "--out", folder))
                .contains("--out is '" + folder + "', which is not a file but a directory");
        assertThat(new Ht().fine("page", "--help")).contains("ht page --out rates.html");
    }

    /** The program that opens files may end with the browser: nobody waits for it. */
    @Test
    void withAScreenItIsOpenedFromTheCache() throws Exception {
        Path opener =
                Files.writeString(folder.resolve("xdg-open"), "#!/bin/sh\necho $$ >\"$1.pid\"\nexec /bin/sleep 600\n");
        Files.setPosixFilePermissions(opener, PosixFilePermissions.fromString("rwx------"));
        Path page = folder.resolve("cache/hypertransfer/page.html"),
                pid = folder.resolve("cache/hypertransfer/page.html.pid");
        assertThat(said(":9")).isEqualTo("the page: " + page.toUri());
        Browser.waitFor("the opener", () -> Files.exists(pid) && Files.size(pid) > 0);
        ProcessHandle open =
                ProcessHandle.of(Long.parseLong(Files.readString(pid).strip())).orElseThrow();
        assertThat(open.isAlive()).isTrue();
        assertThat(open.destroyForcibly()).isTrue();
        assertThat(said("")).as("no screen").endsWith("open that address in a browser");
    }

    private String said(String display) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(Child.java("page")).redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().removeIf(name -> name.endsWith("DISPLAY"));
        builder.environment().put("XDG_CACHE_HOME", folder.resolve("cache").toString());
        builder.environment().put("PATH", folder.toString());
        if (!display.isEmpty()) {
            builder.environment().put("DISPLAY", display);
        }
        Process process = builder.start();
        String said = new String(process.getInputStream().readAllBytes()).strip();
        assertThat(process.waitFor()).isZero();
        return said;
    }
}
