package hypertransfer.engine.cuda.kernel;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Fp8.Grid;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cuda.driver.Launch;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * How many blocks and threads the kernels run on. The kernels are compiled for the same numbers, see {@link #constants}.
 *
 * @param eight whether products take eight bits
 */
public record Geometry(Dims dims, Precision precision, boolean eight) {
    /** Tensors of one list launch; 48 bytes each, below the 4096 that a launch may carry. */
    public static final int MAX_LIST = 64;
    /** Words of a launch's list, whose unused places are zeros. */
    public static final int LIST_WORDS = 7 * MAX_LIST;
    /** Blocks that share the sums over one tensor. */
    public static final int SHARES = 128;
    /** Blocks of the kernels that walk over rows and sum columns. */
    public static final int ROW_BLOCKS = 528;

    private static final int THREADS = 256, SOFTMAX_THREADS = 512, EMBED_THREADS = 512, WARP = 32;
    private static final int WARPS = 4, DELTA_LANES = 16, COLUMN_ROWS = 8, SHIFT_ROWS = 32;
    private static final int LIST_BLOCKS = 512, LIST_PER_THREAD = 8;

    /** Numbers in one access of a row: at most 16 bytes, and a divisor of the row. */
    int vector(int cols) {
        int vector = 16 / precision.bytes;
        while (cols % vector != 0) {
            vector /= 2;
        }
        return vector;
    }

    /** Threads that hold a row: a warp, doubled while each would hold more than four chunks. */
    int lanes(int cols) {
        int chunks = cols / vector(cols), lanes = WARP;
        while (lanes < 1024 && lanes * 4 < chunks) {
            lanes *= 2;
        }
        return lanes;
    }

    /** Threads that hold a head: the power of two that the chunks of its half fill, at most a warp. */
    int headLanes() {
        int chunks = dims.D() / 2 / vector(dims.D() / 2), lanes = 1;
        while (lanes < WARP && lanes < chunks) {
            lanes *= 2;
        }
        return lanes;
    }

    /** The text that stands before a kernel file: all numbers that both sides must agree on. */
    String constants(String file) {
        int T = dims.T(), C = dims.C(), D = dims.D(), H = dims.H(), V = dims.V(), F = dims.F();
        String network = constants("T", T, "C", C, "D", D, "H", H);
        boolean narrow = precision == Precision.BF16 || file.equals("symmetric"); // which has one text for all engines
        return "#define BF16 " + (narrow ? 1 : 0) + "\n"
                + switch (file) {
                    case "rows" -> norms() + constants("F", F, "SHIFT_ROWS", SHIFT_ROWS, "COLUMN_ROWS", COLUMN_ROWS);
                    case "rows8" -> norms() + scale(Role.OPERAND) + scale(Role.OPERAND_GRADIENT);
                    case "heads" ->
                        constants("T", T, "D", D, "H", H, "G", dims.G())
                                + epsilon()
                                + constants("VEC", vector(D / 2), "LANES", headLanes());
                    case "tokens" ->
                        constants("C", C, "V", V, "VEC", vector(C), "LOGITS_VEC", vector(V))
                                + constants("SOFTMAX_THREADS", SOFTMAX_THREADS);
                    case "attention" ->
                        network
                                + constants("G", dims.G(), "WINDOW", Math.min(dims.W(), T), "VEC", vector(D))
                                + constants("WARPS", WARPS, "DELTA_LANES", DELTA_LANES);
                    case "lists" -> constants("MAX_LIST", MAX_LIST, "SHARES", SHARES);
                    case "head" -> constants("C", C, "V", V, "VEC", vector(C)) + Fused.powers(dims);
                    case "eight" -> constants("C", C, "V", V, "TURN_THREADS", THREADS) + Fused.powers(dims);
                    case "fused", "fused8" -> network + epsilon() + Fused.constants() + Fused.powers(dims);
                    case "symmetric" -> Fused.constants();
                    case "blocks" -> network + Blocks.constants() + scale(Role.OPERAND_GRADIENT);
                    default -> network;
                };
    }

    /** Of names and values in turn. */
    private static String constants(Object... all) {
        return IntStream.range(0, all.length / 2)
                .mapToObj(i -> "constexpr int " + all[2 * i] + " = " + all[2 * i + 1] + ";\n")
                .collect(Collectors.joining());
    }

    private String norms() {
        int C = dims.C(), F = dims.F();
        return constants("C", C, "THREADS", THREADS, "NARROW_VEC", vector(C), "NARROW_LANES", lanes(C))
                + constants("WIDE_VEC", vector(F), "WIDE_LANES", lanes(F))
                + epsilon();
    }

    /** What tensors of a role in eight bits are multiplied by, under the role's name; 0 where they have more. */
    private String scale(Role role) {
        float scale = eight ? Math.scalb(1f, Grid.of(role, dims).exponent()) : 0;
        return "constexpr float " + role + " = " + scale + "f;\n";
    }

    private static String epsilon() {
        return "constexpr float EPSILON = " + (float) Engine.NORM_EPSILON + "f;\n";
    }

    /** A kernel of rows.cu with a place for every row. */
    public Launch rows(int rows, int cols) {
        int lanes = lanes(cols), threads = Math.max(THREADS, lanes);
        return Launch.of(((long) rows * lanes + threads - 1) / threads, threads);
    }

    /** The same on no more blocks than there are shares of a gain's gradient: each walks over some rows. */
    public Launch shares(int rows, int cols) {
        Launch all = rows(rows, cols);
        return Launch.of(Math.min(ROW_BLOCKS, all.x()), all.threads());
    }

    /** Sums over columns, a warp of them per block. */
    public Launch columns() {
        return new Launch((dims.C() + WARP - 1) / WARP, 1, 1, WARP, COLUMN_ROWS, 0);
    }

    /** One thread per number. */
    public Launch addRows(Tensor y) {
        return Launch.each(y.size(), THREADS);
    }

    /** One block per row and warp of columns of the sums. */
    public Launch sums(Tensor b) {
        return new Launch((b.cols() + WARP - 1) / WARP, b.rows(), 1, WARP, SHIFT_ROWS, 0);
    }

    public Launch embed() {
        return Launch.each((long) dims.N() * dims.C() / vector(dims.C()), THREADS);
    }

    /** One block per distinct token: threads for its columns, and rows of them for its positions. */
    public Launch embedBackward(int distinct) {
        int vector = vector(dims.C());
        int columns = Math.min(128, (dims.C() / vector + WARP - 1) / WARP * WARP), rows = EMBED_THREADS / columns;
        return new Launch(distinct, 1, 1, columns, rows, columns * rows * vector * Float.BYTES);
    }

    public Launch heads(long heads) {
        return Launch.each(heads * headLanes(), THREADS);
    }

    /** One warp per row and each of so many heads. */
    public Launch warps(int heads) {
        return Launch.each((long) WARP * dims.N() * heads, WARPS * WARP);
    }

    public Launch delta() {
        return Launch.each((long) DELTA_LANES * dims.N() * dims.H(), THREADS);
    }

    /** One block per row of logits. */
    public Launch softmax(int rows, int bytes) {
        return new Launch(rows, 1, 1, SOFTMAX_THREADS, 1, bytes);
    }

    /**
     * The bytes of a row of logits, if it consists of 16-byte chunks and a multiprocessor holds two rows and what else
     * their blocks need; otherwise 0.
     */
    int softmaxBytes(int shared) {
        long bytes = (long) dims.V() * precision.bytes;
        return vector(dims.V()) * precision.bytes == 16 && bytes <= shared / 2 - 4096 ? (int) bytes : 0;
    }

    /** A matrix of eight bits in tiles. */
    public Launch turn(int rows, int cols) {
        return new Launch(cols / Fused.EIGHT_SIDE, rows / Fused.EIGHT_SIDE, 1, THREADS, 1, 0);
    }

    /** One warp per row of so many. */
    public Launch lines(int rows) {
        return Launch.each((long) WARP * rows, THREADS);
    }

    /** One warp per word. */
    public Launch logits() {
        return Launch.each((long) WARP * dims.V(), THREADS);
    }

    /** Over a list of tensors: for each as many blocks as the largest needs and the card can use. */
    public static Launch list(int tensors, long largest) {
        int per = THREADS * LIST_PER_THREAD;
        return new Launch(Math.clamp((largest + per - 1) / per, 1, LIST_BLOCKS), tensors, 1, THREADS, 1, 0);
    }

    /** Over a list of tensors, {@link #SHARES} partial sums of each. */
    public static Launch sums(int tensors) {
        return new Launch(SHARES, tensors, 1, THREADS, 1, 0);
    }

    /** One thread per partial sum. */
    public static Launch finish(int tensors) {
        return Launch.of(tensors, SHARES);
    }
}
