package hypertransfer.engine.door;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Shapes;
import hypertransfer.engine.Tensor;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The rules of what a network computes: the order of calls, and the shapes that stand at each operation. */
record CheckedLayers(Engine engine, Rules rules) {
    private static final Map<String, List<Argument>> OPERATIONS = Arrays.stream(Layers.class.getMethods())
            .collect(Collectors.toMap(Method::getName, CheckedLayers::arguments));

    /**
     * What {@link Shapes} says of an argument.
     *
     * @param unless what must be null too where this is null: its own name where it may be, empty where it may not
     * @param shape rows and columns; empty where it has none
     */
    private record Argument(String name, String unless, List<String> shape) {
        static Argument parse(String word) {
            String[] parts = word.split(":");
            String name = parts[0].replaceFirst("\\?.*", ""), unless = parts[0].substring(name.length());
            return new Argument(
                    name,
                    unless.equals("?") ? name : unless.replace("?", ""),
                    parts.length == 1 ? List.of() : List.of(parts[1].split(",")));
        }
    }

    private static List<Argument> arguments(Method method) {
        String words = method.getAnnotation(Shapes.class).value();
        return Stream.of(words.split(" ")).map(Argument::parse).toList();
    }

    Object call(Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        switch (name) {
            case "embed", "head" -> rules.fed(name);
            case "embedBackward" -> {
                rules.outside(name);
                rules.fed(name);
            }
            case "logits" -> rules.outside(name);
            default -> rules.ready(name);
        }
        check(name, OPERATIONS.get(name), arguments);
        return Call.through(engine.layers(), method, arguments);
    }

    private void check(String operation, List<Argument> expected, Object[] arguments) {
        Map<String, Integer> sizes = new HashMap<>(); // of what has no fixed size
        for (int i = 0; i < arguments.length; i++) {
            Argument argument = expected.get(i);
            if (argument.shape.isEmpty() && !argument.name.equals("-")) {
                rules.present(argument.name, arguments[i]);
            }
            if (arguments[i] instanceof Nonlinearity kind) {
                sizes.put("I", kind.inputs());
            }
        }
        for (int i = 0; i < arguments.length; i++) {
            Argument argument = expected.get(i);
            if (argument.name.equals("row<N")) {
                rules.range(0, engine.dims().N() - 1, "row", (int) arguments[i]);
            } else if (arguments[i] instanceof Norm norm) {
                shape(List.of("1", "C"), "gain", norm.gain(), sizes);
                shape(List.of("N", "1"), "r", norm.r(), sizes);
                if (operation.endsWith("Backward")) {
                    shape(List.of("1", "C"), "dgain", norm.dgain(), sizes);
                }
            } else if (!argument.shape.isEmpty() && !absent(argument, expected, arguments)) {
                shape(argument.shape, argument.name, (Tensor) arguments[i], sizes);
            }
        }
    }

    /** Whether an argument is null, and may be. */
    private static boolean absent(Argument argument, List<Argument> all, Object[] arguments) {
        for (int i = 0; i < arguments.length; i++) {
            boolean both = all.get(i) == argument || all.get(i).name.equals(argument.unless);
            if (both && arguments[i] != null) {
                return false;
            }
        }
        return !argument.unless.isEmpty();
    }

    private void shape(List<String> shape, String name, Tensor tensor, Map<String, Integer> sizes) {
        rules.mine(name, tensor);
        String rows = shape.getFirst();
        int cols = size(shape.getLast(), tensor.cols(), sizes);
        if (rows.startsWith("/")) {
            int whole = size(rows.substring(1), 0, sizes);
            if (whole % tensor.rows() != 0 || cols != tensor.cols()) {
                throw rules.misshapen(name, tensor, "(R," + cols + ") with an R that divides " + whole);
            }
        } else if (size(rows, tensor.rows(), sizes) != tensor.rows() || cols != tensor.cols()) {
            throw rules.misshapen(name, tensor, Rules.text(size(rows, tensor.rows(), sizes), cols));
        }
    }

    /** What a size is called in {@link Shapes} as a number; one that has no number yet is the one that was met. */
    private int size(String letters, int met, Map<String, Integer> sizes) {
        if (Character.isLowerCase(letters.charAt(0))) {
            return sizes.computeIfAbsent(letters, _ -> met);
        }
        Dims dims = engine.dims();
        int product = 1;
        for (char letter : letters.toCharArray()) {
            product *= switch (letter) {
                case 'N' -> dims.N();
                case 'C' -> dims.C();
                case 'D' -> dims.D();
                case 'H' -> dims.H();
                case 'V' -> dims.V();
                case 'Q' -> dims.Q();
                case 'F' -> dims.F();
                case 'I' -> sizes.get("I");
                default -> Character.getNumericValue(letter);
            };
        }
        return product;
    }
}
