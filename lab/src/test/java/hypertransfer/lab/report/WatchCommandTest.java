package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.Child;
import hypertransfer.lab.Ht;
import java.io.BufferedReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(600)
class WatchCommandTest {
    @TempDir
    Path folder;

    @Test
    void aDirectoryThatIsNotThere() {
        Path nowhere = folder.resolve("nowhere");
        assertThat(new Ht().refused("watch", nowhere)).contains("there is no directory " + nowhere);
    }

    @Test
    void endsCleanlyWhenToldTo() throws Exception {
        new SyntheticRun(folder.resolve("muon"), 0, "steps=20").finished();
        Process process = new ProcessBuilder(Child.java("watch", folder, "--port", 0))
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        HttpClient client = HttpClient.newHttpClient();
        try (BufferedReader out = process.inputReader()) {
            String line = out.readLine();
            assertThat(line).startsWith("watching " + folder + " at http://127.0.0.1:");
            String address = line.replaceAll(".*(http\\S+).*", "$1");
            // With a reader on the stream: it must not keep the process alive.
            HttpResponse<Stream<String>> stream = client.send(
                    HttpRequest.newBuilder(URI.create(address + "events")).build(), BodyHandlers.ofLines());
            assertThat(stream.statusCode()).isEqualTo(200);
            process.toHandle().destroy(); // unlike Process.destroy, this leaves its output readable
            assertThat(process.waitFor(10, TimeUnit.MINUTES)).isTrue();
            assertThat(process.exitValue()).isEqualTo(143); // SIGTERM's, as SIGINT gives 130
            assertThat(out.readLine()).isNull();
        } finally {
            client.shutdownNow();
            process.destroyForcibly();
        }
    }
}
