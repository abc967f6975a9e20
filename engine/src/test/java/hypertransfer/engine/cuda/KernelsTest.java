package hypertransfer.engine.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Dims;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The kernels' text, where there is no card: they compile, and are the ones that the engine asks for. */
class KernelsTest {
    private static final Dims GPT2 = new Dims(64, 1024, 768, 128, 50304), ODD = new Dims(2, 13, 18, 6, 37);

    @TempDir
    private Path folder;

    @ParameterizedTest
    @EnumSource
    void theEngineKnowsEveryKernel(Precision precision) {
        Pattern kernel = Pattern.compile("__global__ void (?:__launch_bounds__\\([^)]*\\) )?(\\w+)\\(");
        for (String file : files(GPT2, precision)) {
            String text = Kernels.source(file, GPT2, precision, 2);
            assertThat(kernel.matcher(text).results().map(m -> m.group(1)))
                    .as(file)
                    .containsExactlyInAnyOrderElementsOf(Kernels.names(file));
        }
    }

    @ParameterizedTest
    @EnumSource
    void nvccCompilesThem(Precision precision) throws IOException, InterruptedException {
        Optional<Path> nvcc = Arrays.stream(System.getenv("PATH").split(":"))
                .map(bin -> Path.of(bin, "nvcc"))
                .filter(Files::isExecutable)
                .findFirst();
        assumeTrue(nvcc.isPresent(), "no nvcc on the PATH: the kernels were not compiled");
        for (Dims dims : new Dims[] {GPT2, ODD}) {
            Path all = folder.resolve("all");
            for (String file : files(dims, precision)) {
                Path source = folder.resolve(file + ".cu");
                Files.writeString(source, Kernels.source(file, dims, precision, 2));
                Process process = new ProcessBuilder(
                                nvcc.get().toString(),
                                "-std=c++17",
                                file.equals("hopper") ? "-arch=sm_90a" : "-arch=sm_80",
                                "-cubin",
                                "-Werror",
                                "all-warnings",
                                "-o",
                                all.toString(),
                                source.toString())
                        .redirectErrorStream(true)
                        .start();
                String said = new String(process.getInputStream().readAllBytes());
                assertThat(process.waitFor())
                        .as("%s for %s: %s", file, dims, said)
                        .isZero();
            }
        }
    }

    /** Those of older cards and of Hopper. */
    private static List<String> files(Dims dims, Precision precision) {
        return Stream.of(80, 90)
                .flatMap(target -> Kernels.files(Flash.of(dims, precision, target, 227 * 1024)).stream())
                .distinct()
                .toList();
    }
}
