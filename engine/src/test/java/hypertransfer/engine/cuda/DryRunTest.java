package hypertransfer.engine.cuda;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.engine.Dims;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.driver.Cache;
import hypertransfer.engine.cuda.driver.Card;
import hypertransfer.engine.cuda.driver.Driver;
import hypertransfer.engine.cuda.driver.Launch;
import hypertransfer.engine.cuda.kernel.Kernel;
import hypertransfer.engine.cuda.kernel.Precision;
import hypertransfer.engine.door.Checked;
import hypertransfer.engine.foreign.Native;
import hypertransfer.engine.proof.Comparison;
import hypertransfer.engine.proof.Twice;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The engine on a card that computes nothing: what it launches, what it keeps, and what it gives back. */
class DryRunTest {
    private static final Dims DIMS = new Dims(4, 256, 512, 64, 1024);

    @TempDir
    private Path folder;

    private final Card card = new Card();

    private CudaEngine engine(Dims dims, Precision precision) {
        return new CudaEngine(
                dims, precision, card.driver(), card, card, () -> card, new Cache(folder.resolve("cache")));
    }

    @ParameterizedTest
    @EnumSource(names = {"FLOAT32", "BF16"})
    void everyKernelIsLaunchedWithAsManyWordsAsItTakes(Precision precision) {
        Dims dims = new Dims(1, 12, 128, 64, 64);
        Twice.run(d -> Checked.of(engine(d, precision)), dims);
        Set<String> hopper = Set.of("hopper", "fused", "head"),
                plain = Set.of("attention", "attention_query", "attention_key", "attention_delta", "softmax");
        Set<String> expected = Arrays.stream(Kernel.values())
                .filter(kernel ->
                        !Set.of("flash", "blocks", "rows8", "fused8", "eight").contains(kernel.file))
                .filter(kernel ->
                        precision == Precision.BF16 ? !plain.contains(kernel.symbol()) : !hopper.contains(kernel.file))
                .map(Kernel::symbol)
                .collect(Collectors.toSet());
        assertThat(card.launched.stream().map(Card.Launched::kernel).collect(Collectors.toSet()))
                .isEqualTo(expected);
        assertThat(card.held()).isEmpty();
    }

    /** What {@code CudaEngineTest.everyOperationHasTheSameBitsAgain} runs on a card is every kernel there is. */
    @Test
    void noKernelIsWithoutATestOfItsBits() {
        Set<String> missing = Arrays.stream(Kernel.values()).map(Kernel::symbol).collect(Collectors.toSet());
        for (Dims dims : Comparison.SIZES) {
            if (!missing.isEmpty()) {
                Twice.run(d -> Checked.of(engine(d, Precision.BF16)), dims);
                card.launched.forEach(launched -> missing.remove(launched.kernel()));
            }
        }
        for (Dims dims : Comparison.sizes(Format.FP8)) {
            Twice.run(d -> Checked.of(engine(d, Precision.E4M3)), dims);
            card.launched.forEach(launched -> missing.remove(launched.kernel()));
        }
        assertThat(missing).isEmpty();
    }

    /** Operands are read as they lie in memory, 64 pairs of bytes wide; what is summed along tokens is transposed before. */
    @Test
    void productsOfEightBitsReadPairsOfBytes() {
        Dims dims = Comparison.sizes(Format.FP8).getLast();
        int N = dims.N(), C = dims.C(), F = dims.F();
        try (CudaEngine engine = engine(dims, Precision.E4M3)) {
            assertThat(engine.name()).isEqualTo("cuda-fp8");
            Tensor x = engine.tensor(Role.OPERAND, "x", N, C), s = engine.tensor(Role.OPERAND, "s", N, F);
            Tensor w = engine.tensor(Role.WEIGHT, "w", F, C), df = engine.tensor(Role.OPERAND_GRADIENT, "df", N, F);
            Tensor dw = engine.tensor(Role.HIDDEN_GRADIENT, "dw", F, C);
            engine.commit();
            engine.layers().productActivation(x, w, null, s, Nonlinearity.RELU_SQUARED);
            engine.layers().productWeight(df, x, dw);
        }
        assertThat(card.mapped).containsExactly(N + "x3 in 128x1", F + "x3 in 256x1", N + "x5 in 64x2");
        assertThat(card.launched)
                .extracting(Card.Launched::kernel)
                .containsExactly("turn_8", "product_relu_squared_8", "turn_8", "turn_8");
        assertThat(card.held()).isEmpty();
    }

    /** The maker's numbers, for the cards that they are known of. */
    @ParameterizedTest
    @CsvSource({"NVIDIA H200, 989, 1979, 0", "NVIDIA H100 80GB HBM3, 989, 1979, 0", "NVIDIA H100 PCIe, 0, 0, 0"})
    void thePeakIsThatOfTheCardAndThePrecision(String name, double bf16, double fp8, double float32) {
        Driver d = card.driver();
        Driver named = new Driver(
                d.functions(),
                d.version(),
                d.ordinal(),
                d.uuid(),
                name,
                d.capability(),
                d.shared(),
                d.multiprocessors());
        Map.of(Precision.BF16, bf16, Precision.E4M3, fp8, Precision.FLOAT32, float32)
                .forEach((precision, peak) -> {
                    Cache cache = new Cache(folder.resolve("cache"));
                    try (CudaEngine engine = new CudaEngine(DIMS, precision, named, card, card, () -> card, cache)) {
                        assertThat(engine.peak()).isEqualTo(peak * 1e12);
                    }
                });
    }

    @Test
    void eightBitsAreRefusedWhereTheSizesDoNotFit() {
        refused(() -> engine(new Dims(2, 100, 256, 128, 640), Precision.E4M3), "multiples of 128", "B=2, T=100");
        refused(() -> engine(new Dims(2, 128, 256, 32, 640), Precision.E4M3), "heads of 64 or 128");
        refused(() -> engine(new Dims(2, 128, 128, 128, 640), Precision.E4M3), "a width of 256 or more");
        assertThat(card.held()).isEmpty();
    }

    /** Whole tiles of 128: three kernels, the last two on one block of threads per pair of blocks of rows. */
    @Test
    void attentionGoesBackWithFiveProductsWhereTheSizesFit() {
        Dims dims = new Dims(2, 384, 256, 128, 64), odd = new Dims(2, 385, 256, 128, 64);
        List<Card.Launched> five = wentBack(dims);
        assertThat(five)
                .extracting(Card.Launched::kernel)
                .containsExactly("backward_rows", "backward_key", "backward_query");
        int pairs = 2 * 4; // the first and the last block of a head, and the one between them, of four heads
        assertThat(five.getFirst().launch()).isEqualTo(Launch.of(2 * 384 * 2 * 4 / 256, 256));
        assertThat(five.get(1).launch().x()).isEqualTo(five.get(2).launch().x()).isEqualTo(pairs);
        assertThat(card.mapped).containsExactly("768x12 in 64x2", "768x12 in 16x1", "768x4 in 64x2");
        assertThat(wentBack(odd)).extracting(Card.Launched::kernel).containsExactly("hopper_query", "hopper_key");
    }

    private List<Card.Launched> wentBack(Dims dims) {
        card.launched.clear();
        card.mapped.clear();
        int N = dims.N(), C = dims.C();
        try (CudaEngine engine = engine(dims, Precision.BF16)) {
            Tensor qkv = engine.tensor(Role.ACTIVATION, "qkv", N, 3 * C),
                    dqkv = engine.tensor(Role.ACTIVATION, "dqkv", N, 3 * C);
            Tensor o = engine.tensor(Role.ACTIVATION, "o", N, C), dO = engine.tensor(Role.ACTIVATION, "dO", N, C);
            Tensor lse = engine.tensor(Role.STATISTIC, "lse", N, dims.H());
            Tensor r = engine.tensor(Role.STATISTIC, "r", N, 3 * dims.H());
            engine.commit();
            engine.layers().attentionHeadsBackward(qkv, r, new HeadRule(true, true, true), o, lse, dO, dqkv);
        }
        return List.copyOf(card.launched);
    }

    /** The kernels that Newton-Schulz's first step launches for two such matrices, and how many products cuBLASLt runs in all. */
    private List<String> orthogonalized(int rows, int cols, boolean bf16) {
        card.launched.clear();
        card.mapped.clear();
        card.algorithms.clear();
        Iteration one = Iteration.repeated(1, 3, -4, 2), iteration = bf16 ? one.inBf16() : one;
        try (CudaEngine engine = engine(DIMS, Precision.BF16)) {
            List<Tensor> matrices = List.of(
                    engine.tensor(Role.HIDDEN_GRADIENT, "x", rows, cols),
                    engine.tensor(Role.HIDDEN_GRADIENT, "y", rows, cols));
            engine.commit();
            engine.motion().orthogonalize(matrices, iteration);
        }
        return Stream.concat(
                        card.launched.stream().map(Card.Launched::kernel).skip(3), // readings, finish, normalize
                        card.algorithms.stream().map(a -> "cuBLASLt"))
                .toList();
    }

    @Test
    void symmetricProductsAreOursWhereTheMatricesFit() {
        assertThat(orthogonalized(320, 384, true)).containsExactly("gram", "square", "denormalize", "cuBLASLt");
        assertThat(String.join(", ", card.mapped))
                .isEqualTo(
                        "640x6 in 128x1, 640x6 in 256x1, 640x5 in 64x1, 640x5 in 128x1, 640x5 in 256x1, 640x5 in 64x1,"
                                + " 640x5 in 64x4");
        assertThat(orthogonalized(384, 320, true)).containsExactly("gram_tall", "square", "denormalize", "cuBLASLt");
        assertThat(card.mapped).startsWith("768x5 in 64x2", "768x5 in 64x4", "640x5 in 64x1");
        for (int[] other : new int[][] {{320, 352}, {352, 320}, {64, 64}, {64, 256}}) {
            assertThat(orthogonalized(other[0], other[1], true))
                    .as("%d x %d", other[0], other[1])
                    .containsExactly("denormalize", "cuBLASLt", "cuBLASLt", "cuBLASLt");
        }
        assertThat(orthogonalized(320, 384, false)).as("float32").doesNotContain("gram", "square");
    }

    /** cuSOLVER is loaded by what needs it, and the sentence of its absence is the library's own. */
    @Test
    void onlySoapNeedsCusolver() {
        Supplier<Native> none = () -> {
            throw new EngineException("the direction soap needs cuSOLVER: no libcusolver.so.12");
        };
        Cache cache = new Cache(folder.resolve("cache"));
        try (CudaEngine engine = new CudaEngine(DIMS, Precision.BF16, card.driver(), card, card, none, cache)) {
            List<Tensor> gram = List.of(engine.tensor(Role.HIDDEN_GRADIENT, "gram", 8, 8));
            engine.commit();
            engine.motion().rotate(gram, gram, gram, false);
            assertThatThrownBy(() -> engine.motion().refine(gram, new double[] {1}, gram))
                    .hasMessage("the direction soap needs cuSOLVER: no libcusolver.so.12");
        }
        assertThat(card.held()).isEmpty();
        card.failing.add("cusolverDnSgeqrf");
        try (CudaEngine engine = engine(DIMS, Precision.BF16)) {
            List<Tensor> gram = List.of(engine.tensor(Role.HIDDEN_GRADIENT, "gram", 8, 8));
            engine.commit();
            assertThatThrownBy(() -> engine.motion().refine(gram, new double[] {1}, gram))
                    .hasMessage("cusolverDnSgeqrf of a card of the test's failed with status 719 on Card");
        }
        assertThat(card.held()).isEmpty();
    }

    @Test
    @SuppressWarnings("try") // closing again does nothing
    void theFallbackOfAttentionIsNamed() {
        Dims window = new Dims(1, 12, 64, 64, 64, 1, 256, 5);
        try (CudaEngine engine = engine(window, Precision.BF16);
                CudaEngine all = engine(DIMS, Precision.BF16)) {
            assertThat(engine.remark()).get().asString().contains("plain kernels", "no window");
            assertThat(all.remark()).isEmpty();
            all.commit();
            all.close();
        }
        assertThat(card.held()).isEmpty();
    }

    /** Softmax has a pass of its own where a row of logits is not whole panels. */
    @ParameterizedTest
    @CsvSource({"1000, softmax, 4", "1024, head_loss, 10"})
    void theHeadGivesGradientsWheneverTheyAreAskedFor(int V, String kernel, int word) {
        Dims dims = new Dims(DIMS.B(), DIMS.T(), DIMS.C(), DIMS.D(), V);
        try (CudaEngine engine = engine(dims, Precision.BF16)) {
            Tensor x = engine.tensor(Role.ACTIVATION, "x", dims.N(), dims.C());
            Tensor dx = engine.tensor(Role.ACTIVATION, "dx", dims.N(), dims.C());
            Tensor w = engine.tensor(Role.WEIGHT, "w", V, dims.C());
            Tensor dw = engine.tensor(Role.GRADIENT, "dw", V, dims.C());
            Tensor losses = engine.tensor(Role.STATISTIC, "losses", dims.N(), 1);
            engine.commit();
            engine.feed(new int[dims.N()], new int[dims.N()]);
            engine.layers().head(x, w, losses, 0, dx, dw);
            engine.layers().head(x, w, losses, 0, null, null);
        }
        assertThat(card.launched.stream().filter(l -> l.kernel().equals(kernel)))
                .extracting(l -> l.words()[word])
                .as("gradient")
                .containsExactly(1L, 0L);
    }

    @ParameterizedTest
    @ValueSource(strings = {"cuStreamCreate", "nvrtcCompileProgram", "cuModuleGetFunction", "cublasLtCreate"})
    void anEngineThatCannotOpenLeavesNothingOnTheCard(String function) {
        card.failing.add(function);
        refused(() -> engine(DIMS, Precision.BF16), function.startsWith("nvrtc") ? "cannot compile" : function);
        assertThat(card.held()).isEmpty();
    }

    /** A damaged image was loaded as it was. */
    @Test
    void aDamagedKernelIsCompiledAgain() throws IOException {
        engine(DIMS, Precision.BF16).close();
        int all = card.compiled;
        engine(DIMS, Precision.BF16).close();
        assertThat(card.compiled).as("kept").isEqualTo(all);
        Path cache = folder.resolve("cache"), kept;
        try (Stream<Path> files = Files.list(cache)) {
            kept = files.filter(file -> file.getFileName().toString().startsWith("rows"))
                    .findFirst()
                    .orElseThrow();
        }
        byte[] good = Files.readAllBytes(kept), flipped = good.clone(), seal = good.clone();
        flipped[good.length - 1] ^= 1;
        seal[0] ^= 1;
        List<byte[]> damaged = List.of(
                new byte[0],
                new byte[1],
                Arrays.copyOf(good, 32),
                Arrays.copyOf(good, good.length - 1),
                Arrays.copyOf(good, good.length + 1),
                Arrays.copyOfRange(good, 32, good.length), // of the version before
                flipped,
                seal);
        for (byte[] bytes : damaged) {
            Files.write(kept, bytes);
            int before = card.compiled;
            engine(DIMS, Precision.BF16).close();
            assertThat(card.compiled).as("compiled again").isEqualTo(before + 1);
            assertThat(kept).hasBinaryContent(good);
        }
        Files.delete(kept);
        Files.createDirectory(kept);
        engine(DIMS, Precision.BF16).close();
        assertThat(card.held()).isEmpty();
    }

    @Test
    void aCardThatFailedIsGivenBackAllTheSame() {
        CudaEngine engine = engine(DIMS, Precision.BF16);
        engine.commit();
        card.failing.addAll(List.of("cuStreamSynchronize", "cuMemFree_v2"));
        refused(engine::close, "cuStreamSynchronize");
        assertThat(card.held()).containsOnly("cuMemAlloc_v2"); // the context's end frees it
    }

    @Test
    void aFailureInsideAReplayIsTheOneThatIsReported() {
        try (CudaEngine engine = engine(DIMS, Precision.BF16)) {
            Runnable fails = () -> {
                throw new EngineException("the cause");
            };
            engine.replay("step", () -> {});
            card.failing.add("cuStreamEndCapture");
            assertThatThrownBy(() -> engine.replay("step", fails))
                    .hasMessage("the cause")
                    .satisfies(e -> assertThat(e.getSuppressed()).hasSize(1));
            card.failing.clear();
        }
        assertThat(card.held()).isEmpty();
    }

    // ------------------------------------------------- the algorithms of products

    private static final long ENOUGH = 140L << 30, SHORT = 200L << 20;

    /** The algorithm of a large product in an engine opened for it, with so much memory free. */
    private int algorithm(Path decisions, long free) {
        return algorithm(decisions, free, List.of(3f, 2f, 1f, 3f, 2f, 1f)); // the third is the fastest, in both rounds
    }

    private int algorithm(Path decisions, long free, List<Float> times) {
        card.milliseconds.clear();
        card.milliseconds.addAll(times);
        return last(decisions, free, (engine, product) -> product.run());
    }

    /** The algorithm that a large product gets in the end. */
    private int last(Path decisions, long free, BiConsumer<CudaEngine, Runnable> work) {
        try (CudaEngine engine = engine(DIMS, Precision.BF16)) {
            if (decisions != null) {
                engine.decisions(decisions);
            }
            Tensor x = engine.tensor(Role.ACTIVATION, "x", DIMS.N(), DIMS.C());
            Tensor w = engine.tensor(Role.WEIGHT, "w", 4 * DIMS.C(), DIMS.C());
            Tensor y = engine.tensor(Role.ACTIVATION, "y", DIMS.N(), 4 * DIMS.C());
            engine.commit();
            card.available = free;
            work.accept(engine, () -> engine.layers().product(x, w, y));
        } finally {
            card.available = ENOUGH;
        }
        return card.algorithms.getLast();
    }

    @Test
    void theFastestAlgorithmIsKept() {
        assertThat(algorithm(null, ENOUGH)).isEqualTo(3);
        card.algorithms.clear();
        assertThat(algorithm(null, ENOUGH)).isEqualTo(3);
        assertThat(card.algorithms).as("nothing is timed again").hasSize(1);
    }

    @Test
    void anAlgorithmThatFailsIsLeftOut() {
        card.refused = 2;
        assertThat(algorithm(null, ENOUGH, List.of(3f, 1f, 3f, 1f))).isEqualTo(3);
        assertThat(card.algorithms).doesNotContain(2);
    }

    /** Algorithms take turns in the work until it is clear which is the fastest there; memory for a second result is not needed. */
    @Test
    void theFastestInsideTheWorkIsKept() {
        Path run = folder.resolve("decisions.txt");
        assertThat(decided(run, 1, 3, 2))
                .as("the first call of each loads it and does not count")
                .isEqualTo(1);
        assertThat(card.algorithms.subList(0, 6)).containsExactly(1, 2, 3, 1, 2, 3);
        int before = card.algorithms.size();
        assertThat(before).isGreaterThan(400);
        assertThat(decided(run, 3, 2, 1)).as("a run that began keeps its own").isEqualTo(1);
        assertThat(decided(null, 3, 2, 1))
                .as("another run follows what was kept")
                .isEqualTo(1);
        assertThat(card.algorithms)
                .as("once for the first, twice for the other")
                .hasSize(before + 3);
    }

    /** Memory is short, so nothing was tried before; such a failure ended the run. */
    @Test
    void anAlgorithmThatFailsInsideTheWorkIsLeftOut() {
        card.refused = 1;
        assertThat(decided(null, 3, 2, 1)).isIn(2, 3);
        assertThat(card.algorithms).doesNotContain(1).startsWith(2, 3, 2, 3);
        card.refused = 3;
        assertThat(decided(folder.resolve("another.txt"), 1, 1, 1)).isNotEqualTo(3);
    }

    /** The algorithm that a large product gets, by how long each of the three takes. */
    private int decided(Path decisions, float first, float second, float third) {
        card.milliseconds.clear();
        card.milliseconds.addAll(List.of(9f, 8f, 7f));
        for (int i = 0; i < 1000; i++) {
            card.milliseconds.addAll(List.of(first, second, third));
        }
        return last(decisions, SHORT, (engine, product) -> {
            engine.decide(() -> engine.replay("work", product));
            product.run();
        });
    }

    @Test
    void aChoiceThatCouldNotBeTimedIsNotKeptAsIfItWere() {
        assertThat(algorithm(null, SHORT)).isEqualTo(1);
        assertThat(algorithm(null, ENOUGH)).isEqualTo(3);
    }

    @Test
    void aRunKeepsTheAlgorithmsItBeganWith() throws IOException {
        Path run = folder.resolve("decisions.txt");
        assertThat(algorithm(run, SHORT)).as("untimed").isEqualTo(1);
        assertThat(algorithm(null, ENOUGH)).as("another run").isEqualTo(3);
        assertThat(algorithm(run, ENOUGH)).as("resumed").isEqualTo(1);
        Files.delete(run);
        assertThat(algorithm(run, ENOUGH)).as("begun anew").isEqualTo(3);
    }

    @Test
    void whereNothingCanBeKeptNothingIsTimed() throws IOException {
        Files.createFile(folder.resolve("cache"));
        assertThat(algorithm(null, ENOUGH)).isEqualTo(1);
        assertThat(card.algorithms).hasSize(1);
    }
}
