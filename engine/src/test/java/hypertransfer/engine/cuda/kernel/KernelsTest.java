package hypertransfer.engine.cuda.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Dims;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.FieldSource;

/** The kernels' text, where there is no card: they compile, and are the ones that the engine asks for. */
class KernelsTest {
    private static final Dims GPT2 = new Dims(64, 1024, 768, 128, 50304), ODD = new Dims(2, 13, 18, 6, 37, 1, 20, 7);

    private static final List<String> FILES =
            Arrays.stream(Kernel.values()).map(kernel -> kernel.file).distinct().toList();

    private static final Set<String> HOPPER =
            Set.of("hopper", "blocks", "fused", "head", "symmetric", "rows8", "fused8", "eight");

    private static final Set<String> EIGHT = Set.of("rows8", "fused8", "eight");

    @TempDir
    private Path folder;

    /** Of a text: each kernel under its name, with the words that its parameters take. */
    private static Map<String, Integer> kernels(String text) {
        Pattern kernel = Pattern.compile("__global__ void (?:__launch_bounds__\\([^)]*\\) )?(\\w+)\\(([^)]*)\\)");
        Map<String, Integer> kernels = new TreeMap<>();
        kernel.matcher(text).results().forEach(m -> {
            int words = m.group(2).split(",").length - 1 + (m.group(2).contains("List list") ? Geometry.LIST_WORDS : 1);
            words += m.group(2).split(" Map ", -1).length * 15 - 15; // which have 16 words
            kernels.put(m.group(1), words);
        });
        return kernels;
    }

    @ParameterizedTest
    @EnumSource
    void theEngineKnowsEveryKernelAndItsWords(Precision precision) {
        for (int target : new int[] {80, 90}) {
            Optional<Flash> flash = Flash.of(GPT2, precision, target, 227 * 1024);
            boolean fused = Fused.fits(GPT2, precision, target, 227 * 1024);
            for (String file : Kernels.files(flash, fused, Symmetric.runs(target, 227 * 1024), fused)) {
                Map<String, Integer> known =
                        Kernels.in(file).stream().collect(Collectors.toMap(Kernel::symbol, kernel -> kernel.arity));
                assertThat(kernels(Kernels.source(file, new Geometry(GPT2, precision, fused), flash)))
                        .as(file)
                        .containsExactlyInAnyOrderEntriesOf(known);
            }
        }
    }

    @Test
    void symmetricProductsNeedTheCardsInstructionsAndItsSharedMemory() {
        assertThat(Symmetric.runs(90, 227 * 1024)).isTrue();
        assertThat(Symmetric.runs(80, 227 * 1024)).isFalse();
        assertThat(Symmetric.runs(100, 227 * 1024)).isFalse();
        assertThat(Symmetric.runs(90, 163 * 1024)).isFalse();
    }

    /** nvcc takes lambdas with parameters of any type as functions of the card, but NVRTC, which the engine uses, does not. */
    @ParameterizedTest
    @FieldSource("FILES")
    void noLambdaHasAParameterOfAnyType(String file) {
        assertThat(Kernels.source(file, new Geometry(GPT2, Precision.BF16, true), Optional.empty()))
                .doesNotContainPattern("\\[[&=]\\]\\s*\\([^)]*\\bauto\\b");
    }

    @Test
    void wordsAreWhatKernelsRead() {
        assertThat(Kernels.words(null, 3, 4L, 0.5, true, false))
                .containsExactly(0, 3, 4, Double.doubleToRawLongBits(0.5), 1, 0);
        assertThatThrownBy(() -> Kernels.words("x")).isInstanceOf(IllegalArgumentException.class);
    }

    /**
     * Each text once: some do not depend on sizes or precision. Each file in each precision for the odd sizes, if it takes
     * them; with {@code -Dht.slow=true} also for GPT-2's, and optimized.
     */
    @Test
    void nvccCompilesThem() {
        Optional<Path> nvcc = Arrays.stream(System.getenv("PATH").split(":"))
                .map(bin -> Path.of(bin, "nvcc"))
                .filter(Files::isExecutable)
                .findFirst();
        assumeTrue(nvcc.isPresent(), "no nvcc on the PATH: the kernels were not compiled");
        Map<String, String> texts = new TreeMap<>();
        for (Precision precision : List.of(Precision.FLOAT32, Precision.BF16)) { // which engines have
            List<String> odd = files(ODD, precision);
            for (Dims dims : List.of(GPT2, ODD)) {
                for (String file : files(dims, precision)) {
                    if (dims == GPT2 && odd.contains(file) && !Boolean.getBoolean("ht.slow")) {
                        continue;
                    }
                    Optional<Flash> flash = Flash.of(dims, precision, HOPPER.contains(file) ? 90 : 80, 227 * 1024);
                    for (boolean eight : new boolean[] {precision == Precision.BF16, EIGHT.contains(file)}) {
                        texts.put(Kernels.source(file, new Geometry(dims, precision, eight), flash), file);
                    }
                }
            }
        }
        assertThat(texts.values()).containsAll(FILES);
        texts.entrySet().parallelStream()
                .forEach(text -> assertThat(compile(nvcc.get(), text.getValue(), text.getKey()))
                        .as("%s: %s", text.getValue(), text.getKey())
                        .isEmpty());
    }

    /** What nvcc complains of. */
    private String compile(Path nvcc, String file, String text) {
        try {
            Path source = Files.writeString(Files.createTempFile(folder, file, ".cu"), text);
            String card = HOPPER.contains(file) ? "sm_90a" : "sm_80";
            String optimized =
                    Boolean.getBoolean("ht.slow") ? "" : " -Xcicc=-O0 -Xptxas=-O0"; // nothing runs: all or nothing
            String command = nvcc + " -std=c++17 -cubin -Werror all-warnings -arch=" + card + optimized;
            Process process = new ProcessBuilder(Stream.concat(
                                    Arrays.stream(command.split(" ")),
                                    Stream.of("-o", source + ".cubin", source.toString()))
                            .toList())
                    .redirectErrorStream(true)
                    .start();
            String said = new String(process.getInputStream().readAllBytes());
            return process.waitFor() == 0 ? "" : said + " exit code " + process.exitValue();
        } catch (IOException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Those of older cards and of Hopper. */
    private static List<String> files(Dims dims, Precision precision) {
        return Stream.of(80, 90)
                .flatMap(target -> Kernels.files(
                        Flash.of(dims, precision, target, 227 * 1024),
                        Fused.fits(dims, precision, target, 227 * 1024),
                        Symmetric.runs(target, 227 * 1024),
                        Fused.fits(dims, precision, target, 227 * 1024))
                        .stream())
                .distinct()
                .toList();
    }
}
