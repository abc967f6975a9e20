package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_FLOAT;

import hypertransfer.engine.cuda.Product.Batch;
import hypertransfer.engine.cuda.Product.Shape;
import hypertransfer.engine.cuda.driver.Cache;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.driver.Plans;
import hypertransfer.engine.cuda.kernel.Precision;
import hypertransfer.engine.foreign.Native;
import java.lang.System.Logger.Level;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

/**
 * Matrix products by cuBLASLt, planned at first use, or by {@link #decide}. Sums are in float32, without TF32. Of eight bits they are
 * not the tensor cores' fast ones, which keep 14 bits: these are added to float32 after every 128 products.
 */
final class Blas implements AutoCloseable {
    static final long WORKSPACE_BYTES = 64L << 20;

    private static final System.Logger LOG = System.getLogger(Blas.class.getName());
    private static final int COMPUTE_32F = 68, R_32F = 0; // cublasComputeType_t, cudaDataType
    private static final int FLIP_A = 3, FLIP_B = 4; // CUBLASLT_MATMUL_DESC_TRANS_
    private static final int BATCH_COUNT = 5, BATCH_STRIDE = 6; // CUBLASLT_MATRIX_LAYOUT_
    private static final int REPETITIONS = 4, ROUNDS = 2;
    /** Algorithms, of those that are fastest by themselves, that are timed inside the work. */
    private static final int FINALISTS = 12;
    /** Below this many operations the choice matters little, and cuBLASLt's first one is taken. */
    private static final double WORTH_TIMING = 1e9;
    /** Milliseconds of products after which a card has found the clock that its power allows. */
    private static final double UNTIL_WARM = 1000;
    /** Free memory that timing does not touch. */
    private static final long MARGIN = 256L << 20;

    /** How a product is computed: cuBLASLt's descriptor of it, its three layouts, and the algorithm. */
    record Plan(String name, long descriptor, long a, long b, long c, MemorySegment algorithm) {
        void take(byte[] chosen) {
            MemorySegment.copy(chosen, 0, algorithm, JAVA_BYTE, 0, chosen.length);
        }

        byte[] bytes() {
            return algorithm.toArray(JAVA_BYTE);
        }
    }

    private final Device device;
    private final CardLibrary lt;
    private final Algorithms algorithms;
    private final Plans plans;
    private final Map<Product, Plan> planned = new HashMap<>();
    private final Map<Product, Trial> trials = new HashMap<>(); // while it decides
    private final Arena arena;
    private final MemorySegment alpha;
    private final MemorySegment beta;
    private long workspace;
    private boolean deciding;

    Blas(Device device, Native library, Cache cache) {
        this.device = device;
        lt = new CardLibrary(library, device.driver.name(), "cublasLt");
        algorithms = new Algorithms(lt, WORKSPACE_BYTES, device.driver.multiprocessors());
        plans = new Plans(cache, device.driver.name(), library.call("cublasLtGetVersion"));
        arena = Arena.ofShared();
        alpha = arena.allocate(JAVA_FLOAT);
        beta = arena.allocate(JAVA_FLOAT);
    }

    /** Where cuBLASLt may write, {@link #WORKSPACE_BYTES} long. */
    void workspace(long pointer) {
        workspace = pointer;
    }

    /** Follows, and completes, the algorithms in a run's own file. */
    void own(Path file) {
        plans.own(file);
    }

    /**
     * Does work, the same every time, until the products in it that no plan is kept for are timed where they are needed. By
     * itself a product finds a cooler card with a faster clock, and the cache to itself: what is fastest there can be 15%
     * slower here.
     */
    void decide(Runnable work) {
        if (plans.begun() || !plans.lasting()) {
            return;
        }
        deciding = true;
        try {
            double measured = 0;
            do {
                work.run();
                device.synchronize();
                measured += trials.values().stream().mapToDouble(Trial::collect).sum();
            } while (!trials.isEmpty()
                    && (measured < UNTIL_WARM || !trials.values().stream().allMatch(Trial::enough)));
            trials.forEach((product, trial) -> {
                Plan plan = planned.get(product);
                plan.take(trial.best());
                plan.take(plans.keep(plan.name(), plan.bytes(), trial.refused));
                plan.take(plans.use(plan.name(), plan.bytes(), trial.refused));
            });
        } finally {
            trials.clear();
            deciding = false;
        }
    }

    boolean deciding() {
        return deciding;
    }

    void multiply(Product product, double by, long a, long b, double keep, long c, long d) {
        Plan known = planned.get(product);
        Plan plan = known == null ? plan(product, keep, a, b, c) : known;
        Trial trial = trials.get(product);
        lt.require(
                "cublasLtMatmul",
                trial == null
                        ? status(plan, by, a, b, keep, c, d)
                        : trial.call(plan::take, () -> status(plan, by, a, b, keep, c, d)));
    }

    /** C = op(A) op(B) + keep C, of one pair of matrices in one format. */
    void multiply(Shape shape, Precision in, long a, long b, double keep, long c, Precision out) {
        multiply(Product.of(shape, in, out, a, b, c), 1, a, b, keep, c, c);
    }

    private int status(Plan plan, double by, long a, long b, double keep, long c, long d) {
        alpha.set(JAVA_FLOAT, 0, (float) by);
        beta.set(JAVA_FLOAT, 0, (float) keep);
        long what = plan.descriptor(), A = plan.a(), B = plan.b(), C = plan.c(), on = device.stream();
        MemorySegment how = plan.algorithm();
        Object[] values = {lt.handle, what, alpha, a, A, b, B, beta, c, C, d, C, how, workspace, WORKSPACE_BYTES, on};
        return lt.status("cublasLtMatmul", values);
    }

    private Plan plan(Product p, double keep, long a, long b, long c) {
        Shape s = p.shape();
        Batch batch = p.batch();
        long descriptor = lt.create("cublasLtMatmulDescCreate", COMPUTE_32F, R_32F);
        lt.set("cublasLtMatmulDescSetAttribute", descriptor, FLIP_A, s.flipA() ? 1 : 0);
        lt.set("cublasLtMatmulDescSetAttribute", descriptor, FLIP_B, s.flipB() ? 1 : 0);
        Plan plan = new Plan(
                p.key(),
                descriptor,
                layout(p.left(), s.flipA() ? s.k() : s.m(), s.flipA() ? s.m() : s.k(), batch.count(), batch.a()),
                layout(p.in(), s.flipB() ? s.n() : s.k(), s.flipB() ? s.k() : s.n(), batch.count(), batch.b()),
                layout(p.out(), s.m(), s.n(), batch.count(), batch.c()),
                arena.allocate(Plans.ALGORITHM_BYTES, 8));
        byte[] kept = plans.find(plan.name()).orElse(null);
        if (kept == null || !usable(plan, kept)) {
            choose(p, plan, kept, keep, a, b, c);
        }
        if (!trials.containsKey(p)) {
            plan.take(plans.use(plan.name(), plan.bytes(), kept));
        }
        planned.put(p, plan);
        return plan;
    }

    /**
     * By timing, now or inside the work, where that pays, there is room for it, and the choice lasts; otherwise cuBLASLt's own
     * first choice.
     */
    private void choose(Product p, Plan plan, byte[] refused, double keep, long a, long b, long c) {
        List<byte[]> candidates = algorithms.offered(p, plan);
        plan.take(candidates.getFirst());
        boolean pays = candidates.size() > 1 && p.operations() >= WORTH_TIMING && plans.lasting();
        boolean room = pays && device.available() >= p.outputBytes() + MARGIN;
        if (room) {
            candidates = ranked(p, plan, candidates, keep, a, b, c);
        }
        if (pays && deciding) {
            trials.put(p, new Trial(device, candidates, refused));
        } else if (room) {
            plan.take(candidates.getFirst());
            plan.take(plans.keep(plan.name(), plan.bytes(), refused));
        } else if (p.batched()) { // whatever the first batch's number, its choice holds for all
            plan.take(plans.keep(plan.name(), plan.bytes(), refused));
        }
    }

    /**
     * The algorithms that are offered and others like them, those that take the least time by themselves, the fastest first.
     * C must stay as it is, so the results go to memory taken for the moment.
     */
    private List<byte[]> ranked(Product p, Plan plan, List<byte[]> offered, double keep, long a, long b, long c) {
        List<byte[]> all = new ArrayList<>(offered);
        all.addAll(algorithms.others(p, plan, offered));
        long d = device.allocate(p.outputBytes()), start = device.event(), stop = device.event();
        float[] least = new float[all.size()];
        Arrays.fill(least, Float.MAX_VALUE);
        for (int round = 0; round < ROUNDS; round++) { // each twice, since the card's clock drifts
            for (int i = 0; i < least.length; i++) {
                plan.take(all.get(i));
                if (status(plan, 1, a, b, keep, c, d) != 0) { // accepted, and yet not possible
                    continue;
                }
                device.record(start);
                for (int k = 0; k < REPETITIONS; k++) {
                    lt.require("cublasLtMatmul", status(plan, 1, a, b, keep, c, d));
                }
                device.record(stop);
                device.await(stop);
                least[i] = Math.min(least[i], device.milliseconds(start, stop));
            }
        }
        device.forget(start);
        device.forget(stop);
        device.free(d);
        List<byte[]> ranked = IntStream.range(0, least.length)
                .boxed()
                .filter(i -> least[i] < Float.MAX_VALUE)
                .sorted(Comparator.comparingDouble(i -> least[i]))
                .limit(FINALISTS)
                .map(all::get)
                .toList();
        return ranked.isEmpty() ? offered : ranked;
    }

    /** Whether cuBLASLt accepts an algorithm that was kept; if so the plan has it. */
    private boolean usable(Plan plan, byte[] kept) {
        if (algorithms.accepts(plan, kept)) {
            plan.take(kept);
            return true;
        }
        LOG.log(
                Level.WARNING,
                "{0} no longer accepts the algorithm kept for {1}; another is chosen, so the last bits may differ from earlier"
                        + " runs",
                lt.name(),
                plan.name());
        return false;
    }

    private long layout(Precision format, int rows, int cols, int batch, long stride) {
        long layout = lt.create("cublasLtMatrixLayoutCreate", format.cuda, (long) rows, (long) cols, (long) rows);
        if (batch > 1) {
            lt.set("cublasLtMatrixLayoutSetAttribute", layout, BATCH_COUNT, batch);
            lt.set("cublasLtMatrixLayoutSetAttribute", layout, BATCH_STRIDE, stride);
        }
        return layout;
    }

    @Override
    public void close() {
        try (arena;
                lt) {
            for (Plan plan : planned.values()) {
                lt.check("cublasLtMatmulDescDestroy", plan.descriptor());
                for (long layout : new long[] {plan.a(), plan.b(), plan.c()}) {
                    lt.check("cublasLtMatrixLayoutDestroy", layout);
                }
            }
        }
    }
}
