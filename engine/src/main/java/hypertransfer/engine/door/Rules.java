package hypertransfer.engine.door;

import hypertransfer.engine.Dims;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import java.lang.foreign.MemorySegment;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/**
 * What the door of one engine knows: how far the engine's life has come and which tensors are its own. Every operation
 * begins with {@link #order}, which also names it for the sentences that follow.
 */
final class Rules {
    private enum Phase {
        DECLARING,
        READY,
        CLOSED
    }

    /** Before commit; before it and after; and with tokens. All else comes after commit. */
    private static final Set<String> DECLARING = Set.of("tensor", "commit"),
            OPEN = Set.of("slice", "decisions"),
            FED = Set.of("embed", "head", "embedBackward");
    /** What waits for results, or does other work for other tokens, cannot be replayed. */
    private static final Set<String> OUTSIDE =
            Set.of(("write read sum pack unpack store load feed replay decide await embedBackward logits readings")
                    .split(" "));

    private final Set<Tensor> own = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Set<Tensor> exact = Collections.newSetFromMap(new IdentityHashMap<>()); // its exact masters
    private Phase phase = Phase.DECLARING;
    private boolean fed;
    private String replayed; // the name of the replay we are in, or null
    private String operation; // the one being checked

    /** False if it was closed before. */
    boolean closes() {
        boolean first = phase != Phase.CLOSED;
        phase = Phase.CLOSED;
        return first;
    }

    /** From here on inside this replay; outside with null. */
    void replaying(String name) {
        replayed = name;
    }

    /** What later calls depend on. */
    void remember(String name, Object[] arguments, Object result) {
        switch (name) {
            case "commit" -> phase = Phase.READY;
            case "feed" -> fed = true;
            case "tensor", "slice" -> {
                own.add((Tensor) result);
                if (arguments[0] == Role.EXACT_MASTER || exact.contains(arguments[0])) {
                    exact.add((Tensor) result);
                }
            }
            default -> {}
        }
    }

    /** Refuses what is called too early, too late, or where it cannot be. */
    void order(String name) {
        operation = name;
        boolean declares = DECLARING.contains(name);
        if (phase == Phase.CLOSED) {
            throw refusal("the engine is closed; open another one");
        }
        if (phase == Phase.READY && declares) {
            throw refusal("the engine has been committed; declare all tensors first, then commit once");
        }
        if (phase == Phase.DECLARING && !declares && !OPEN.contains(name)) {
            throw refusal("the engine is not committed; declare all tensors, then call commit");
        }
        if (replayed != null && OUTSIDE.contains(name)) {
            throw refusal("not possible inside replay '" + replayed + "'; call it before or after");
        }
        if (!fed && FED.contains(name)) {
            throw refusal("there are no tokens yet; call feed first");
        }
    }

    // --------------------------------------------------------------- arguments

    void present(String name, Object argument) {
        if (argument == null) {
            throw refusal(name + " is null");
        }
    }

    /** A tensor of this engine, of any role. */
    void any(String name, Tensor tensor) {
        if (!own.contains(tensor)) {
            present(name, tensor);
            throw refusal(name + " '" + tensor.name() + "' belongs to another engine");
        }
    }

    /** A tensor of this engine in the engine's own format. */
    void mine(String name, Tensor tensor) {
        any(name, tensor);
        if (exact.contains(tensor)) {
            throw refusal(
                    name + " '" + tensor.name() + "' is an exact master, expected a tensor in the engine's own format");
        }
    }

    void list(String name, List<Tensor> tensors) {
        masters(name, tensors);
        for (int k = 0; k < tensors.size(); k++) {
            if (exact.contains(tensors.get(k))) {
                mine(name + "[" + k + "]", tensors.get(k));
            }
        }
    }

    /** A list in which exact masters may stand. */
    void masters(String name, List<Tensor> tensors) {
        present(name, tensors);
        for (int k = 0; k < tensors.size(); k++) {
            if (!own.contains(tensors.get(k))) {
                any(name + "[" + k + "]", tensors.get(k));
            }
        }
    }

    /** Blocks of one shape and of the whole's format, which fill it. */
    void blocks(Tensor whole, List<Tensor> blocks) {
        any("whole", whole);
        if (blocks.isEmpty()) {
            throw refusal("blocks is empty, expected blocks of '" + whole.name() + "'");
        }
        int rows = blocks.getFirst().rows(), cols = blocks.getFirst().cols();
        long fit = whole.rows() % rows == 0 && whole.cols() % cols == 0 ? whole.size() / ((long) rows * cols) : 0;
        if (fit != blocks.size()) {
            throw refusal(blocks.size() + " blocks of shape " + text(rows, cols) + " do not fill '" + whole.name()
                    + "' of shape " + text(whole.rows(), whole.cols()));
        }
        for (int k = 0; k < blocks.size(); k++) {
            Tensor block = blocks.get(k);
            if (block.rows() != rows || block.cols() != cols) {
                throw misshapen("blocks[" + k + "]", block, text(rows, cols));
            }
            if (block.numberBytes() != whole.numberBytes()) {
                throw refusal("blocks[" + k + "] '" + block.name() + "' has numbers of " + block.numberBytes()
                        + " bytes, expected " + whole.numberBytes() + " as in '" + whole.name() + "'");
            }
        }
    }

    void aboveZero(String name, double value) {
        if (!(value > 0)) {
            throw refusal(name + " is " + value + ", expected a number above zero");
        }
    }

    void tokens(Dims dims, String name, int[] tokens) {
        present(name, tokens);
        if (tokens.length != dims.N()) {
            throw refusal(name + " has " + tokens.length + " tokens, expected " + dims.N());
        }
        for (int n = 0; n < tokens.length; n++) {
            if (tokens[n] < 0 || tokens[n] >= dims.V()) {
                throw refusal(name + "[" + n + "] is token " + tokens[n] + ", expected 0 to " + (dims.V() - 1));
            }
        }
    }

    /** Memory of exactly the bytes that these tensors have. */
    void room(String name, List<Tensor> tensors, MemorySegment memory) {
        list("tensors", tensors);
        present(name, memory);
        long bytes = 0;
        for (int k = 0; k < tensors.size(); k++) {
            bytes += tensors.get(k).bytes();
        }
        sized(name, memory, bytes);
    }

    /** Memory of exactly the bytes that a tensor, maybe an exact master, has. */
    void room(String name, Tensor tensor, MemorySegment memory) {
        any("tensor", tensor);
        present(name, memory);
        sized(name, memory, tensor.bytes());
    }

    private void sized(String name, MemorySegment memory, long bytes) {
        if (memory.byteSize() != bytes) {
            throw refusal(name + " has " + memory.byteSize() + " bytes, expected " + bytes);
        }
    }

    void length(int expected, String name, int length) {
        if (length != expected) {
            throw refusal(name + " has length " + length + ", expected " + expected + ", one per tensor");
        }
    }

    void range(int low, long high, String name, long value) {
        if (value < low || value > high) {
            throw refusal(name + " is " + value + ", expected " + low
                    + (high == Long.MAX_VALUE ? " or more" : " to " + high));
        }
    }

    EngineException misshapen(String name, Tensor tensor, String expected) {
        return refusal(name + (tensor.name().equals(name) ? "" : " '" + tensor.name() + "'") + " has shape "
                + text(tensor.rows(), tensor.cols()) + ", expected " + expected);
    }

    EngineException refusal(String sentence) {
        return new EngineException(operation + ": " + sentence);
    }

    static String text(int rows, int cols) {
        return "(" + rows + "," + cols + ")";
    }
}
