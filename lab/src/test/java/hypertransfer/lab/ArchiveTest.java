package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The archives of {@code mvn -Parchive -pl lab -am verify}, unpacked in an empty folder. There is no Java on the path, nor any
 * program that the launcher does not need.
 */
@Tag("archive")
class ArchiveTest {
    /** Nobody can write below it, root included. */
    private static final Path READ_ONLY = Path.of("/dev/null");

    private static final int MEGABYTE = 1_000_000;

    @TempDir
    Path dir;

    private Path tools, temporary;

    @BeforeEach
    void tools() throws IOException {
        tools = Files.createDirectory(dir.resolve("tools"));
        temporary = Files.createDirectory(dir.resolve("tmp"));
        for (String tool : List.of("dirname", "readlink", "mkdir", "id")) {
            Path found = Path.of(Files.exists(Path.of("/usr/bin", tool)) ? "/usr/bin" : "/bin", tool);
            Path script = Files.writeString(tools.resolve(tool), "#!/bin/sh\nexec " + found + " \"$@\"\n");
            assertThat(script.toFile().setExecutable(true)).isTrue();
        }
    }

    /** The one archive whose name ends so, unpacked by a program. */
    private Path unpacked(String ending, String... program) throws Exception {
        try (Stream<Path> built = Files.list(Path.of("target"))) {
            Path archive = built.filter(file -> file.getFileName().toString().matches("hypertransfer-\\d.*" + ending))
                    .toList()
                    .getFirst()
                    .toAbsolutePath();
            System.out.printf("%s: %.1f MB%n", archive.getFileName(), (double) Files.size(archive) / MEGABYTE);
            assertThat(Files.size(archive)).isLessThan(120 * MEGABYTE);
            Path folder = Files.createDirectory(dir.resolve("unpacked"));
            Process process = new ProcessBuilder(Stream.concat(Stream.of(program), Stream.of(archive.toString()))
                            .toList())
                    .directory(folder.toFile())
                    .inheritIO()
                    .start();
            assertThat(process.waitFor()).isZero();
            try (Stream<Path> unpacked = Files.list(folder)) {
                return unpacked.toList().getFirst();
            }
        }
    }

    private Process start(Path release, Map<String, ?> environment, String words) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(Stream.concat(Stream.of("bin/ht"), Stream.of(words.split(" ")))
                        .toList())
                .directory(release.toFile())
                .redirectErrorStream(true);
        builder.environment().clear();
        builder.environment().putAll(Map.of("PATH", "" + tools, "HOME", "" + READ_ONLY, "TMPDIR", "" + temporary));
        environment.forEach((name, value) -> builder.environment().put(name, value.toString()));
        return builder.start();
    }

    private String fine(Path release, Map<String, ?> environment, String words) throws Exception {
        Process process = start(release, environment, words);
        String out = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(out).isZero();
        return out;
    }

    @Test
    void itRunsWithoutJavaAndWithoutAHome() throws Exception {
        Path release = unpacked("\\.tar\\.gz", "tar", "-xzf");
        Path home = Files.createDirectory(dir.resolve("home"));
        assertThat(fine(release, Map.of("HOME", home), "doctor"))
                .contains(release.resolve("runtime").toString(), "cpu        yes");
        assertThat(release.resolve("LICENSE")).isNotEmptyFile();
        assertThat(release.resolve("NOTICE")).isNotEmptyFile();
        assertThat(Workshop.regular(home))
                .as("the only thing in a home that can be written")
                .isNotEmpty()
                .allMatch(file -> file.startsWith(home.resolve(".cache/hypertransfer/natives")));

        assertThat(temporary).isEmptyDirectory();
        assertThat(fine(release, Map.of(), "--version")).contains("HyperTransfer ");
        assertThat(fine(release, Map.of(), "demo --quick"))
                .contains(
                        "compared with m1-muon; they end 0.041 apart",
                        "m1-hypertransfer has all losses of m1-muon, to the last bit",
                        "m1-inverse-hypertransfer has all losses of m1-muonh, to the last bit");
        assertThat(release.resolve("out/demo-quick/report.html")).isNotEmptyFile();
        try (Stream<Path> natives = Files.find(temporary, 9, (file, is) -> is.isRegularFile())) {
            assertThat(natives.map(file -> file.getFileName().toString())).anyMatch(file -> file.contains("openblas"));
        }

        String train = "train runs/muon.yaml --set steps=10 --out out/";
        Process stopped = start(release, Map.of(), train + "stopped");
        BufferedReader out = stopped.inputReader();
        while (!out.readLine().contains("| loss ")) {}
        stopped.toHandle().destroy(); // SIGTERM; the launcher became the JVM
        assertThat(out.lines()).as("stopped before its end").noneMatch(line -> line.contains("step 00010"));
        assertThat(stopped.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(fine(release, Map.of(), train + "stopped")).contains("step 00010/00010");
        fine(release, Map.of(), train + "whole");
        String last = "checkpoints/step-00000010.safetensors";
        assertThat(release.resolve("out/stopped/" + last)).hasSameBinaryContentAs(release.resolve("out/whole/" + last));
    }

    /** For those who have a JDK: the natives of every platform, and no runtime. */
    @Test
    void theZipRunsOnAJdk() throws Exception {
        Path jar = Path.of(System.getProperty("java.home"), "bin", "jar");
        Path release = unpacked("\\.zip", jar.toString(), "-xf"); // forgets what is executable
        for (String script : List.of("ht", "jdk")) {
            assertThat(release.resolve("bin/" + script).toFile().setExecutable(true))
                    .isTrue();
        }
        assertThat(release.resolve("runtime")).doesNotExist();
        assertThat(release.resolve("lib")).isDirectoryContaining("glob:**/openblas-*-linux-x86_64.jar");
        assertThat(release.resolve("lib")).isDirectoryContaining("glob:**/openblas-*-linux-arm64.jar");
        assertThat(release.resolve("lib")).isDirectoryContaining("glob:**/openblas-*-macosx-arm64.jar");
        assertThat(fine(release, Map.of("JAVA_HOME", System.getProperty("java.home")), "doctor"))
                .contains("cpu        yes");
    }
}
