package hypertransfer.engine.door;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Layers;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Motion;
import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.Shapes;
import hypertransfer.engine.Tensor;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The rules of what a network computes and of what an optimizer does: the order of calls, and the shapes that stand at each
 * operation.
 */
record CheckedOperations(Engine engine, Rules rules) {
    private static final Map<String, List<Argument>> OPERATIONS = Stream.of(Layers.class, Motion.class)
            .flatMap(type -> Stream.of(type.getMethods()))
            .collect(Collectors.toMap(Method::getName, CheckedOperations::arguments));
    private static final List<List<String>> GAIN = List.of(List.of("1", "C")), FACTORS = List.of(List.of("N", "1"));

    /**
     * What {@link Shapes} says of an argument.
     *
     * @param unless what must be null too where this is null: its own name where it may be, empty where it may not
     * @param mark {@code []} of a list, {@code [!]} of one in which exact masters may stand, {@code *} of a number for each
     * @param positive whether it is above zero
     * @param shapes those that it may have, each rows and columns, or a word; empty where it has none
     */
    private record Argument(String name, String unless, String mark, boolean positive, List<List<String>> shapes) {
        private static final Pattern WORD = Pattern.compile("([\\w<-]+)(\\?(\\w*))?(\\[!?]|\\*)?(>0)?(?::(.+))?");

        static Argument parse(String word) {
            Matcher m = WORD.matcher(word);
            if (!m.matches()) {
                throw new IllegalArgumentException(word);
            }
            String unless = m.group(2) == null ? "" : m.group(3).isEmpty() ? m.group(1) : m.group(3);
            List<List<String>> shapes = Stream.ofNullable(m.group(6))
                    .flatMap(all -> Stream.of(all.split("\\|")))
                    .map(shape -> List.of(shape.split(",")))
                    .toList();
            return new Argument(m.group(1), unless, Objects.toString(m.group(4), ""), m.group(5) != null, shapes);
        }
    }

    private static List<Argument> arguments(Method method) {
        String words = method.getAnnotation(Shapes.class).value();
        return Stream.of(words.split(" ")).map(Argument::parse).toList();
    }

    Object call(Method method, Object[] arguments) throws Throwable {
        String name = method.getName();
        rules.order(name);
        check(name, OPERATIONS.get(name), arguments);
        boolean layer = method.getDeclaringClass() == Layers.class;
        return Call.through(layer ? engine.layers() : engine.motion(), method, arguments);
    }

    private void check(String operation, List<Argument> expected, Object[] arguments) {
        Map<String, Integer> sizes = new HashMap<>(); // of what has no fixed size
        List<Tensor> first = null; // of lists
        for (int i = 0; i < arguments.length; i++) {
            Argument argument = expected.get(i);
            if (argument.shapes.isEmpty() && argument.unless.isEmpty() && !argument.name.equals("-")) {
                rules.present(argument.name, arguments[i]);
            }
            if (arguments[i] instanceof Nonlinearity kind) {
                sizes.put("I", kind.inputs());
            }
        }
        for (int i = 0; i < arguments.length; i++) {
            Argument argument = expected.get(i);
            if (argument.mark.startsWith("[")) {
                List<Tensor> tensors = Checked.tensors(arguments[i]);
                first = first == null ? tensors : first;
                list(argument, tensors, first, sizes);
            } else if (argument.mark.equals("*") && arguments[i] != null) {
                numbers(argument, (double[]) arguments[i], first.size());
            } else if (argument.positive) {
                rules.aboveZero(argument.name, (double) arguments[i]);
            } else if (argument.name.equals("row<N")) {
                rules.range(0, engine.dims().N() - 1, "row", (int) arguments[i]);
            } else if (argument.name.equals("grid")) {
                rules.range(1, Format.FULL_GRID, "grid", (int) arguments[i]);
            } else if (arguments[i] instanceof Moments moments) {
                rules.range(1, Long.MAX_VALUE, "t", moments.t());
            } else if (arguments[i] instanceof Norm norm) {
                own(GAIN, "gain", norm.gain(), sizes);
                own(FACTORS, "r", norm.r(), sizes);
                if (operation.endsWith("Backward")) {
                    own(GAIN, "dgain", norm.dgain(), sizes);
                }
            } else if (!argument.shapes.isEmpty() && !absent(argument, expected, arguments)) {
                own(argument.shapes, argument.name, (Tensor) arguments[i], sizes);
            }
        }
        if (operation.equals("cut")) {
            rules.blocks((Tensor) arguments[0], Checked.tensors(arguments[1]));
        }
    }

    /** A list of as many tensors as the first one has. */
    private void list(Argument argument, List<Tensor> tensors, List<Tensor> first, Map<String, Integer> sizes) {
        if (argument.mark.equals("[!]")) {
            rules.masters(argument.name, tensors);
        } else {
            rules.list(argument.name, tensors);
        }
        rules.length(first.size(), argument.name, tensors.size());
        for (int k = 0; k < tensors.size() && !argument.shapes.isEmpty(); k++) {
            shape(argument.shapes, argument.name, k, tensors.get(k), sizes, first.get(k));
        }
    }

    private void numbers(Argument argument, double[] numbers, int count) {
        rules.length(count, argument.name, numbers.length);
        for (int k = 0; k < numbers.length && argument.positive; k++) {
            rules.aboveZero(argument.name + "[" + k + "]", numbers[k]);
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

    /** A tensor in the engine's own format. */
    private void own(List<List<String>> shapes, String name, Tensor tensor, Map<String, Integer> sizes) {
        rules.mine(name, tensor);
        shape(shapes, name, -1, tensor, sizes, null);
    }

    /**
     * Refuses another shape; allocates next to nothing otherwise.
     *
     * @param k its place in a list; below zero where it stands in none
     * @param like what stands there in the first list
     */
    private void shape(
            List<List<String>> shapes, String name, int k, Tensor tensor, Map<String, Integer> sizes, Tensor like) {
        for (int i = 0; i < shapes.size(); i++) {
            if (fits(shapes.get(i), tensor, sizes, like)) {
                return;
            }
        }
        String expected =
                shapes.stream().map(shape -> text(shape, tensor, sizes, like)).collect(Collectors.joining(" or "));
        throw rules.misshapen(k < 0 ? name : name + "[" + k + "]", tensor, expected);
    }

    private boolean fits(List<String> shape, Tensor t, Map<String, Integer> sizes, Tensor like) {
        int C = engine.dims().C(), longest = engine.dims().longest();
        String rows = shape.getFirst();
        return switch (rows) {
            case "hidden" -> Math.min(t.rows(), t.cols()) <= C && t.size() <= (long) longest * C;
            case "square" -> t.rows() == t.cols() && t.rows() <= longest;
            default ->
                size(shape.getLast(), t.cols(), sizes, like) == t.cols()
                        && (rows.startsWith("/")
                                ? size(rows.substring(1), 0, sizes, like) % t.rows() == 0
                                : size(rows, t.rows(), sizes, like) == t.rows());
        };
    }

    private String text(List<String> shape, Tensor t, Map<String, Integer> sizes, Tensor like) {
        int C = engine.dims().C(), longest = engine.dims().longest();
        String rows = shape.getFirst(), last = shape.getLast();
        return switch (rows) {
            case "hidden" ->
                "at most a hidden matrix's, " + Rules.text(longest, C) + "; give it another direction than " + last
                        + "'s";
            case "square" -> "a square of at most " + longest + " rows";
            default ->
                rows.startsWith("/")
                        ? "(R," + size(last, t.cols(), sizes, like) + ") with an R that divides "
                                + size(rows.substring(1), 0, sizes, like)
                        : Rules.text(size(rows, t.rows(), sizes, like), size(last, t.cols(), sizes, like));
        };
    }

    /** What a size is called in {@link Shapes} as a number; one that has no number yet is the one that was met. */
    private int size(String letters, int met, Map<String, Integer> sizes, Tensor like) {
        if (like != null && !letters.equals("1")) {
            return letters.equals("r") ? like.rows() : like.cols();
        }
        if (Character.isLowerCase(letters.charAt(0))) {
            return sizes.computeIfAbsent(letters, _ -> met);
        }
        Dims dims = engine.dims();
        int product = 1;
        for (int i = 0; i < letters.length(); i++) {
            product *= switch (letters.charAt(i)) {
                case 'N' -> dims.N();
                case 'C' -> dims.C();
                case 'D' -> dims.D();
                case 'H' -> dims.H();
                case 'V' -> dims.V();
                case 'Q' -> dims.Q();
                case 'F' -> dims.F();
                case 'I' -> sizes.get("I");
                default -> Character.getNumericValue(letters.charAt(i));
            };
        }
        return product;
    }
}
