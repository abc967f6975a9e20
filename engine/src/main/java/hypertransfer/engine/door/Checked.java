package hypertransfer.engine.door;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Tensor;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Set;

/**
 * The door in front of every engine: it holds all rules of {@link Engine} about shapes, lists, tokens, rows and order,
 * so that the engine behind it computes and checks nothing. A refusal names the operation, the argument, what was met
 * and what was expected.
 */
public final class Checked {
    /** What can be called at any time. */
    private static final Set<String> TELLING =
            Set.of(("name dims separateWeights weights provenance remark peak transport layers motion close"
                            + " toString hashCode equals")
                    .split(" "));

    private final Engine engine;
    private final Rules rules = new Rules();
    private final Layers layers;
    private final Motion motion;

    private Checked(Engine engine) {
        this.engine = engine;
        Call operations = new CheckedOperations(engine, rules)::call;
        layers = Call.door(Layers.class, operations);
        motion = Call.door(Motion.class, operations);
    }

    /** An engine with this door before it. */
    public static Engine of(Engine engine) {
        return Call.door(Engine.class, new Checked(engine)::call);
    }

    private Object call(Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        if (!TELLING.contains(name)) {
            rules.order(name);
        }
        check(name, arguments);
        return switch (name) {
            case "layers" -> layers;
            case "motion" -> motion;
            case "close" -> rules.closes() ? Call.through(engine, method, arguments) : null;
            case "replay" -> {
                rules.replaying((String) arguments[0]);
                try {
                    yield Call.through(engine, method, arguments);
                } finally {
                    rules.replaying(null);
                }
            }
            default -> {
                Object result = Call.through(engine, method, arguments);
                rules.remember(name, arguments, result);
                yield result;
            }
        };
    }

    /** With what it may be called. */
    private void check(String name, Object[] arguments) {
        switch (name) {
            case "tensor" -> tensor(arguments[0], (String) arguments[1], (int) arguments[2], (int) arguments[3]);
            case "slice" -> slice((Tensor) arguments[0], (String) arguments[1], (int) arguments[2], (int) arguments[3]);
            case "write" -> write((Tensor) arguments[0], (double[]) arguments[1]);
            case "read" -> rules.any("tensor", (Tensor) arguments[0]);
            case "sum" -> rules.mine("tensor", (Tensor) arguments[0]);
            case "zero" -> rules.list("tensors", tensors(arguments[0]));
            case "pack" -> rules.room("to", tensors(arguments[0]), (MemorySegment) arguments[1]);
            case "unpack" -> rules.room("from", tensors(arguments[1]), (MemorySegment) arguments[0]);
            case "store" -> rules.room("to", (Tensor) arguments[0], (MemorySegment) arguments[1]);
            case "load" -> rules.room("from", (Tensor) arguments[1], (MemorySegment) arguments[0]);
            case "feed" -> {
                rules.tokens(engine.dims(), "inputs", (int[]) arguments[0]);
                rules.tokens(engine.dims(), "targets", (int[]) arguments[1]);
            }
            case "replay" -> present(arguments, "name", "operations");
            case "decide" -> present(arguments, "work");
            case "decisions" -> present(arguments, "file");
            default -> {}
        }
    }

    private void present(Object[] arguments, String... names) {
        for (int i = 0; i < names.length; i++) {
            rules.present(names[i], arguments[i]);
        }
    }

    private void tensor(Object role, String name, int rows, int cols) {
        rules.present("role", role);
        rules.present("name", name);
        if (rows <= 0 || cols <= 0 || (long) rows * cols > Integer.MAX_VALUE) {
            throw rules.refusal("'" + name + "' has shape " + Rules.text(rows, cols)
                    + ", expected at least 1 row and 1 column and fewer than 2^31 numbers");
        }
    }

    private void slice(Tensor whole, String name, int from, int rows) {
        rules.any("whole", whole);
        rules.present("name", name);
        if (from < 0 || rows <= 0 || rows > whole.rows() - from) {
            throw rules.refusal("'" + name + "' takes " + rows + " rows from row " + from + " on, expected rows of '"
                    + whole.name() + "', which has " + whole.rows());
        }
    }

    private void write(Tensor tensor, double[] values) {
        rules.any("tensor", tensor);
        rules.present("values", values);
        if (values.length != tensor.size()) {
            throw rules.refusal(values.length + " values for '" + tensor.name() + "' of shape "
                    + Rules.text(tensor.rows(), tensor.cols()) + ", expected " + tensor.size());
        }
    }

    @SuppressWarnings("unchecked") // the interface says so
    static List<Tensor> tensors(Object argument) {
        return (List<Tensor>) argument;
    }
}
