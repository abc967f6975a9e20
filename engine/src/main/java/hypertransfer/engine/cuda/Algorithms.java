package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.cuda.driver.Plans;
import hypertransfer.engine.cuda.kernel.Precision;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * The algorithms that cuBLASLt could compute a product with.
 *
 * <p>It offers eight. Where a result has few tiles, most of them leave a part of the card without work at the end: 200 tiles
 * take as long on 132 multiprocessors as 264 would. Tiles of other sizes, which it has but does not offer, fill the card better,
 * and a product to the weight is up to 10% faster with them.
 */
record Algorithms(CardLibrary lt, long workspace, int multiprocessors) {
    private static final int RESULT_BYTES = 96,
            RESULT_SIZE = 64,
            RESULT_STATE = 72; // cublasLtMatmulHeuristicResult_t, which begins with the algorithm
    private static final int WORKSPACE = 1, ALIGNMENT_A = 5; // CUBLASLT_MATMUL_PREF_, A to D one after the other
    private static final int TILE = 1, PARTS = 2, SUM = 3, KIND = 5, CLUSTER = 8; // CUBLASLT_ALGO_CONFIG_
    private static final int[] CLUSTERS = {2, 3, 5}; // one block of threads, two below or beside each other
    private static final int OFFERED = 8, OTHERS = 8, MOST_PARTS = 3;
    /** Turns of the whole card, in tiles of usual size, from which on their number matters little. */
    private static final int MANY_TURNS = 4;

    private static final int USUAL_TILE = 128 * 256;

    /** Those that are large enough, and not too far from a square. */
    private static final List<Tile> TILES = Stream.of(
                    tiles(
                            true, 128, 120, 404, 20, 405, 406, 407, 29, 408, 409, 410, 32, 411, 412, 413, 414, 415, 416,
                            417, 23, 418, 419, 420, 421, 422, 423, 424, 176),
                    tiles(
                            false, 128, 120, 171, 20, 179, 184, 189, 30, 197, 201, 205, 31, 212, 215, 218, 221, 224,
                            227, 230, 24, 234, 236, 238, 240, 242, 244, 246, 248),
                    tiles(
                            true, 192, 80, 456, 457, 458, 459, 460, 461, 31, 462, 463, 464, 465, 466, 467, 468, 209,
                            469, 470),
                    tiles(
                            false, 192, 80, 136, 145, 151, 159, 166, 172, 32, 180, 185, 190, 194, 198, 202, 206, 209,
                            213, 216),
                    tiles(true, 256, 104, 496, 497, 498, 24, 499, 500, 501, 502),
                    tiles(false, 256, 104, 160, 167, 173, 23, 181, 186, 191, 195))
            .flatMap(family -> family)
            .distinct()
            .toList();

    /** One of cublasLtMatmulTile_t. */
    private record Tile(int id, int rows, int cols) {}

    /** A tile, the kind of kernel, how many parts each sum has, and the work of the busiest multiprocessor. */
    private record Choice(byte[] like, Tile tile, int parts, double work) {}

    /** Those that cuBLASLt offers, the one it expects most of first. */
    List<byte[]> offered(Product p, Blas.Plan plan) {
        long preference = lt.create("cublasLtMatmulPreferenceCreate");
        lt.set("cublasLtMatmulPreferenceSetAttribute", preference, WORKSPACE, workspace);
        for (int matrix = 0; matrix < 4; matrix++) {
            lt.set("cublasLtMatmulPreferenceSetAttribute", preference, ALIGNMENT_A + matrix, p.alignment());
        }
        try (Arena local = Arena.ofConfined()) {
            MemorySegment results = local.allocate(OFFERED * (long) RESULT_BYTES, 8), count = local.allocate(JAVA_INT);
            long what = plan.descriptor(), a = plan.a(), b = plan.b(), c = plan.c();
            String ask = "cublasLtMatmulAlgoGetHeuristic";
            lt.check(ask, lt.handle, what, a, b, c, c, preference, OFFERED, results, count);
            lt.check("cublasLtMatmulPreferenceDestroy", preference);
            List<byte[]> usable = IntStream.range(0, count.get(JAVA_INT, 0))
                    .mapToObj(i -> results.asSlice(i * (long) RESULT_BYTES, RESULT_BYTES))
                    .filter(result -> result.get(JAVA_INT, RESULT_STATE) == 0)
                    .map(result -> result.asSlice(0, Plans.ALGORITHM_BYTES).toArray(JAVA_BYTE))
                    .toList();
            if (usable.isEmpty()) {
                throw new EngineException(lt.name() + " has no algorithm for the product " + p.key());
            }
            return usable;
        }
    }

    /** Like those that are offered, with tiles that share the work out most evenly, each with all clusters. */
    List<byte[]> others(Product p, Blas.Plan plan, List<byte[]> offered) {
        if (p.in() != Precision.BF16
                || p.batched()
                || (double) p.shape().m() * p.shape().n() > (double) MANY_TURNS * multiprocessors * USUAL_TILE) {
            return List.of();
        }
        Map<Integer, byte[]> kinds = new LinkedHashMap<>();
        offered.forEach(algorithm -> kinds.putIfAbsent(get(algorithm, KIND), algorithm));
        List<Choice> choices = new ArrayList<>();
        for (byte[] like : kinds.values()) {
            for (Tile tile : TILES) {
                for (int parts = 1; parts <= MOST_PARTS; parts++) {
                    choices.add(new Choice(like, tile, parts, work(p, tile, parts)));
                }
            }
        }
        choices.sort(Comparator.comparingDouble(Choice::work));
        List<byte[]> others = new ArrayList<>();
        for (Choice choice : choices) {
            List<byte[]> accepted = Arrays.stream(CLUSTERS)
                    .mapToObj(cluster -> made(choice, cluster))
                    .filter(made -> accepts(plan, made))
                    .toList();
            others.addAll(accepted);
            if (others.size() >= OTHERS * CLUSTERS.length) {
                break;
            }
        }
        others.removeIf(other -> offered.stream().anyMatch(o -> Arrays.equals(o, other)));
        return others;
    }

    /** What the busiest multiprocessor computes, and what it writes, which counts as a twentieth. */
    private double work(Product p, Tile tile, int parts) {
        long tiles = Math.ceilDiv(p.shape().m(), tile.rows)
                * (long) Math.ceilDiv(p.shape().n(), tile.cols)
                * parts;
        return Math.ceilDiv(tiles, multiprocessors) * tile.rows * tile.cols * (1.0 / parts + 0.05);
    }

    private byte[] made(Choice choice, int cluster) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment made = copy(choice.like, local);
            put(made, TILE, choice.tile.id);
            put(made, PARTS, choice.parts);
            put(made, SUM, choice.parts == 1 ? 0 : 2); // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, in a fixed order
            put(made, CLUSTER, (short) cluster);
            return made.toArray(JAVA_BYTE);
        }
    }

    /** What an older release does not have stays as it was. */
    private void put(MemorySegment algorithm, int attribute, Number value) {
        lt.attempt("cublasLtMatmulAlgoConfigSetAttribute", algorithm, attribute, value);
    }

    private static MemorySegment copy(byte[] algorithm, Arena arena) {
        return arena.allocate(Plans.ALGORITHM_BYTES, 8).copyFrom(MemorySegment.ofArray(algorithm));
    }

    private int get(byte[] algorithm, int attribute) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment value = local.allocate(JAVA_LONG), written = local.allocate(JAVA_LONG);
            lt.check("cublasLtMatmulAlgoConfigGetAttribute", copy(algorithm, local), attribute, value, 4L, written);
            return value.get(JAVA_INT, 0);
        }
    }

    /** Whether cuBLASLt would compute the product with it, in the memory there is. */
    boolean accepts(Blas.Plan plan, byte[] algorithm) {
        try (Arena local = Arena.ofConfined()) {
            MemorySegment result = local.allocate(RESULT_BYTES, 8);
            long what = plan.descriptor(), a = plan.a(), b = plan.b(), c = plan.c();
            MemorySegment made = copy(algorithm, local);
            return lt.status("cublasLtMatmulAlgoCheck", lt.handle, what, a, b, c, c, made, result) == 0
                    && result.get(JAVA_LONG, RESULT_SIZE) <= workspace;
        }
    }

    /** Tiles of which the other side grows by eight from each to the next. */
    private static Stream<Tile> tiles(boolean rows, int side, int from, int... ids) {
        return IntStream.range(0, ids.length)
                .mapToObj(i -> new Tile(ids[i], rows ? side : from + 8 * i, rows ? from + 8 * i : side));
    }
}
