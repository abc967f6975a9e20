package hypertransfer.engine.foreign;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibraryTest {
    @TempDir
    private Path root;

    private Path toolkit;
    private Path wheel;

    @BeforeEach
    void install() throws IOException {
        toolkit = library("usr/local/cuda-12.4/lib64/libnvrtc.so.12");
        wheel = library("opt/env/lib/python3.12/site-packages/nvidia/cu13/lib/libnvrtc.so.13");
        library("opt/env/bin/python3");
    }

    private Path library(String path) throws IOException {
        Path file = root.resolve(path);
        Files.createDirectories(file.getParent());
        return Files.createFile(file);
    }

    private List<Path> folders(String variable, String path) {
        return Library.folders(Map.of(variable, root.resolve(path).toString()), root);
    }

    @Test
    void looksInTheInstallAndInPythonsPackages() {
        assertThat(folders("PATH", "opt/env/bin")).containsSubsequence(toolkit.getParent(), wheel.getParent());
        assertThat(folders("VIRTUAL_ENV", "opt/env")).contains(wheel.getParent());
        assertThat(folders("HOME", "nowhere")).doesNotContain(wheel.getParent());
    }

    @Test
    void whatTheUserNamesComesFirst() {
        assertThat(folders("LD_LIBRARY_PATH", "opt/env/lib").getFirst()).isEqualTo(root.resolve("opt/env/lib"));
        assertThat(folders("CUDA_HOME", "usr/local/cuda-12.4").getFirst()).isEqualTo(toolkit.getParent());
    }

    @Test
    void takesTheNewestThatTheDriverRuns() {
        List<Path> folders = folders("PATH", "opt/env/bin");
        assertThat(Library.find("libnvrtc.so", 0, 13, folders)).isEqualTo(new Library(wheel));
        assertThat(Library.find("libnvrtc.so", 0, 14, folders)).isEqualTo(new Library(wheel));
        assertThat(Library.find("libnvrtc.so", 0, 12, folders)).isEqualTo(new Library(toolkit));
    }

    @Test
    void saysWhatIsMissingAndWhereItLooked() {
        List<Path> folders = folders("PATH", "opt/env/bin");
        refused(
                () -> Library.find("libcublasLt.so", 0, 13, folders),
                "no libcublasLt.so.13 or libcublasLt.so.12",
                toolkit.getParent().toString(),
                wheel.getParent().toString(),
                "LD_LIBRARY_PATH");
        // numbered behind CUDA: cuSOLVER 12 belongs to CUDA 13
        refused(() -> Library.find("libcusolver.so", 1, 13, folders), "no libcusolver.so.12 or libcusolver.so.11 in");
    }

    @Test
    void aFileThatIsNoLibraryIsNamed() {
        refused(() -> new Library(wheel).open(), wheel.toString());
    }
}
