package hypertransfer.engine.door;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Layers.HeadRule;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Motion.Moments;
import hypertransfer.engine.Operations;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.reference.ReferenceEngine;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every wrong call is refused with the same sentence on every engine, before the engine behind the door sees it. */
class CheckedTest {
    private static final Dims DIMS = new Dims(1, 3, 4, 2, 5);
    private static final Iteration POLYNOMIAL = Iteration.repeated(1, 1, 0, 0);

    /** All engines that work anywhere, and one that would fail at any call, as the cuda engine does without a card. */
    enum Kind {
        REFERENCE,
        CPU,
        NONE;

        Engine open() {
            return Checked.of(
                    switch (this) {
                        case REFERENCE -> new ReferenceEngine(DIMS);
                        case CPU -> new CpuEngine(DIMS, 1);
                        case NONE -> none();
                    });
        }
    }

    private record Handle(String name, int rows, int cols) implements Tensor {
        @Override
        public int numberBytes() {
            return Float.BYTES;
        }
    }

    private static Engine none() {
        return Operations.of((proxy, method, args) -> switch (method.getName()) {
            case "dims" -> DIMS;
            case "tensor" -> new Handle((String) args[1], (int) args[2], (int) args[3]);
            case "slice" -> new Handle((String) args[1], (int) args[3], ((Tensor) args[0]).cols());
            case "replay" -> {
                ((Runnable) args[1]).run();
                yield null;
            }
            case "commit", "feed", "close" -> null;
            default -> throw new AssertionError(method.getName() + " came through the door");
        });
    }

    private static final List<String> WAITING =
            List.of("embedBackward", "logits", "read", "sum", "write", "readings", "feed");
    private static final List<String> FED = List.of("embed", "embedBackward", "head");

    static Stream<String> operations() {
        return Operations.TABLE.lines().map(line -> line.replaceAll(" !$", "").replace("!", ""));
    }

    /** Tensors of every shape, made on demand before commit. */
    private static final class Bench {
        final Engine engine;
        final Map<String, Tensor> tensors = new LinkedHashMap<>();

        Bench(Kind kind) {
            engine = kind.open();
        }

        Tensor tensor(int rows, int cols) {
            String name = "t" + rows + "x" + cols;
            return tensors.computeIfAbsent(name, n -> engine.tensor(Role.ACTIVATION, n, rows, cols));
        }

        /** The value of a word of {@link #SENTENCES}. */
        Object value(String word) {
            String inner = word.replaceAll("[\\[\\]*]", "");
            return switch (word) {
                case "null" -> null;
                case "false", "true" -> word.equals("true");
                case "[]" -> List.of();
                case "iteration" -> POLYNOMIAL;
                case "lse" -> engine.tensor(Role.ACTIVATION, "lse", 2, 2); // called as the argument is
                case String s
                when s.startsWith("[") ->
                    Stream.of(inner.split(",")).map(this::value).toList();
                case String s when s.startsWith("*") -> new double[Integer.parseInt(inner)];
                case String s when s.contains(".") -> Double.valueOf(s);
                default -> tensor(Integer.parseInt(word.split("x")[0]), Integer.parseInt(word.split("x")[1]));
            };
        }

        /** For each argument the right value first, then wrong ones with the words they are refused with. */
        Map<Object, String> values(String argument) {
            Map<Object, String> values = new LinkedHashMap<>();
            String name = argument.replaceAll("^\\?|[:=*#\\[].*", "");
            if (argument.startsWith("=")) {
                String value = argument.substring(1);
                values.put(value.contains(".") ? Double.valueOf(value) : Boolean.valueOf(value), "");
            } else if (argument.startsWith("norm")) {
                Map<Object, String> gains = values("gain:1,C"), dgains = values("dgain:1,C"), factors = values("r:N,1");
                Tensor gain = tensor(1, DIMS.C()), r = tensor(DIMS.N(), 1);
                values.put(new Norm(gain, gain, r, true), "");
                values.put(null, "norm is null");
                gains.forEach((wrong, words) -> values.put(new Norm((Tensor) wrong, gain, r, true), words));
                factors.forEach((wrong, words) -> values.put(new Norm(gain, gain, (Tensor) wrong, true), words));
                if (argument.endsWith("dgain")) {
                    dgains.forEach((wrong, words) -> values.put(new Norm(gain, (Tensor) wrong, r, true), words));
                }
            } else if (argument.contains(":")) {
                String[] shape = argument.replaceAll(".*:", "").split(",");
                int rows = size(shape[0]), cols = size(shape[1]);
                values.put(tensor(rows, cols), "");
                for (int[] wrong : new int[][] {{rows + 7, cols}, {rows, cols + 7}}) {
                    values.put(tensor(wrong[0], wrong[1]), "has shape (");
                }
                if (!argument.startsWith("?")) {
                    values.put(null, name + " is null");
                }
                values.put(new Handle("stranger", rows, cols), name + " 'stranger' belongs to another engine");
            } else if (argument.contains("..")) {
                String[] range = argument.replaceAll(".*=", "").split("\\.\\.");
                int low = Integer.parseInt(range[0]), high = Integer.parseInt(range[1]);
                values.put(low, "");
                values.put(low - 1, name + " is " + (low - 1) + ", expected " + low + " to " + high);
                values.put(high + 1, name + " is " + (high + 1) + ", expected " + low + " to " + high);
            } else if (argument.contains("[]")) {
                Tensor a = tensor(2, 3), b = tensor(4, 4);
                values.put(List.of(a, b), "");
                values.put(null, name + " is null");
                values.put(Arrays.asList(a, null), name + "[1] is null");
                values.put(List.of(a, new Handle("stranger", 4, 4)), name + "[1] 'stranger' belongs to another engine");
                if (!List.of("g", "w", "masters", "x", "tensors").contains(name)) {
                    values.put(List.of(a), name + " has length 1, expected 2");
                    values.put(List.of(a, a), name + "[1] 't2x3' has shape (2,3), expected (4,4)");
                } else if (name.equals("x")) {
                    values.put(List.of(a, tensor(5, 5)), "x[1] 't5x5' has shape (5,5), expected at most");
                    values.put(List.of(a, tensor(65, 1)), "x[1] 't65x1' has shape (65,1), expected at most");
                }
            } else if (argument.contains("*")) {
                int count = Integer.parseInt(argument.replaceAll(".*\\*", ""));
                values.put(new double[count], "");
                if (!argument.startsWith("?")) {
                    values.put(null, name + " is null");
                }
                values.put(new double[count - 1], (count - 1) + "");
                values.put(new double[count + 1], (count + 1) + "");
            } else if (argument.contains("#")) {
                values.put(new int[] {0, 1, 4}, "");
                values.put(null, name + " is null");
                values.put(new int[2], name + " has 2 tokens, expected 3");
                values.put(new int[] {0, 5, 0}, name + "[1] is token 5, expected 0 to 4");
                values.put(new int[] {-1, 5, 0}, name + "[0] is token -1, expected 0 to 4");
            } else if (name.equals("moments")) {
                values.put(new Moments(0.9, 0.9, 0.1, 1), "");
                values.put(null, "moments is null");
                values.put(new Moments(0.9, 0.9, 0.1, 0), "t is 0, expected 1 or more");
            } else if (name.equals("tensor")) {
                values.put(tensor(3, 4), "");
                values.put(null, "tensor is null");
                values.put(new Handle("stranger", 3, 4), "tensor 'stranger' belongs to another engine");
            } else {
                values.put(
                        switch (name) {
                            case "rule" -> new HeadRule(true, true, true);
                            case "kind" -> Nonlinearity.SWIGLU;
                            default -> POLYNOMIAL;
                        },
                        "");
                values.put(null, name + " is null");
            }
            return values;
        }
    }

    private static int size(String letters) {
        int factor = Character.isDigit(letters.charAt(0)) ? letters.charAt(0) - '0' : 1;
        return factor
                * switch (letters.charAt(letters.length() - 1)) {
                    case 'N' -> DIMS.N();
                    case 'C' -> DIMS.C();
                    case 'H' -> DIMS.H();
                    case 'V' -> DIMS.V();
                    default -> 1;
                };
    }

    private static void call(Engine engine, String operation, Object[] arguments) {
        try {
            Method method = Operations.all().stream()
                    .filter(m -> m.getName().equals(operation))
                    .findFirst()
                    .orElseThrow();
            method.invoke(Operations.owner(engine, method), arguments);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof EngineException refusal) {
                throw refusal;
            }
            throw new AssertionError(e.getCause());
        } catch (IllegalAccessException e) {
            throw new AssertionError(e);
        }
    }

    private static void refused(String operation, String words, Runnable call) {
        assertThatThrownBy(call::run)
                .as(operation)
                .isInstanceOf(EngineException.class)
                .hasMessageStartingWith(operation + ": ")
                .hasMessageContaining(words);
    }

    @ParameterizedTest
    @MethodSource("operations")
    void everyWrongArgument(String line) {
        String operation = line.substring(0, line.indexOf(' '));
        List<List<String>> sentences = new ArrayList<>();
        for (Kind kind : Kind.values()) {
            Bench bench = new Bench(kind);
            List<Map<Object, String>> values =
                    Stream.of(line.split(" ")).skip(1).map(bench::values).toList();
            Object[] right =
                    values.stream().map(v -> v.keySet().iterator().next()).toArray();
            Runnable call = () -> call(bench.engine, operation, right);
            refused(operation, "the engine is not committed", call);
            bench.engine.commit();
            if (FED.contains(operation)) {
                refused(operation, "there are no tokens yet; call feed first", call);
            }
            bench.engine.feed(new int[3], new int[3]);
            List<String> met = new ArrayList<>();
            for (int i = 0; i < right.length; i++) {
                int at = i;
                values.get(i).entrySet().stream().skip(1).forEach(wrong -> {
                    Object[] arguments = right.clone();
                    arguments[at] = wrong.getKey();
                    refused(operation, wrong.getValue(), () -> {
                        try {
                            call(bench.engine, operation, arguments);
                        } catch (EngineException e) {
                            met.add(e.getMessage());
                            throw e;
                        }
                    });
                });
            }
            sentences.add(met);
            if (WAITING.contains(operation)) {
                refused(operation, "not possible inside replay 'step'", () -> bench.engine.replay("step", call));
            }
            if (kind != Kind.NONE) {
                call.run();
            }
            bench.engine.close();
            bench.engine.close();
            refused(operation, "the engine is closed", call);
        }
        assertThat(sentences).containsOnly(sentences.getFirst());
        assertThat(sentences.getFirst()).hasSizeGreaterThanOrEqualTo(2);
    }

    /** The door forgets no operation: what is not in the table is named here. */
    @ParameterizedTest
    @EnumSource
    void theTableIsComplete(Kind kind) {
        assertThat(Operations.except(Operations.TABLE))
                .as("those of theWholeSentence")
                .containsExactly("cut", "decide", "gram", "refine", "rotate");
        try (Engine engine = kind.open()) {
            assertThat(engine.dims()).isEqualTo(DIMS);
        }
    }

    /** Calls and what they are refused with: tensors by their shapes, {@code *3} for three numbers, and values. */
    private static final String SENTENCES = """
            attentionBackward 3x12 3x4 lse 3x4 3x12 | lse has shape (2,2), expected (3,2)
            momentum [3x4,5x4] *1 0.9 false [3x4,5x4] | scale has length 1, expected 2, one per tensor
            product 3x4 5x4 3x4 | y 't3x4' has shape (3,4), expected (3,5)
            write 3x4 *3 | 3 values for 't3x4' of shape (3,4), expected 12
            orthogonalize [17x4] iteration | x[0] 't17x4' has shape (17,4), expected at most a hidden matrix's, (16,4); \
            give it another direction than Muon's
            gram [3x4] *1 0.9 [5x4] [5x4] | left[0] 't5x4' has shape (5,4), expected (3,3) or (1,1)
            rotate [17x4] [] [] false | g[0] 't17x4' has shape (17,4), expected at most a hidden matrix's, (16,4); \
            give it another direction than SOAP's
            refine [3x4] *1 [3x4] | gram[0] 't3x4' has shape (3,4), expected a square of at most 16 rows
            clamp [3x4] *1 -1.0 | limit is -1.0, expected a number above zero
            equalize [3x4] 0.9 0.0 null [3x4] | epsilon is 0.0, expected a number above zero
            equalize [3x4] 0.9 1.0 null [5x4] | v[0] 't5x4' has shape (5,4), expected (3,4) or (3,1)
            cut 5x4 [3x4,3x4] false | 2 blocks of shape (3,4) do not fill 't5x4' of shape (5,4)
            cut 3x12 [3x4,5x4,3x4] true | blocks[1] 't5x4' has shape (5,4), expected (3,4)
            cut 3x4 [] true | blocks is empty, expected blocks of 't3x4'
            cut null [3x4] false | whole is null
            head 3x4 5x4 3x1 1.0 3x4 null | dw is null
            commit | the engine has been committed; declare all tensors first, then commit once
            """;

    static Stream<String> sentences() {
        return SENTENCES.lines();
    }

    @ParameterizedTest
    @MethodSource("sentences")
    void theWholeSentence(String line) {
        String[] words = line.split(" \\| ")[0].split(" ");
        for (Kind kind : Kind.values()) {
            Bench bench = new Bench(kind);
            Object[] arguments = Stream.of(words).skip(1).map(bench::value).toArray();
            bench.engine.commit();
            bench.engine.feed(new int[3], new int[3]);
            assertThatThrownBy(() -> call(bench.engine, words[0], arguments))
                    .as(kind.name())
                    .isInstanceOf(EngineException.class)
                    .hasMessage(words[0] + ": " + line.split(" \\| ")[1]);
            bench.engine.close();
        }
    }

    @ParameterizedTest
    @EnumSource
    @SuppressWarnings("try") // it is closed, and read after that
    void callsAtAWrongTime(Kind kind) {
        try (Engine engine = kind.open()) {
            Tensor x = engine.tensor(Role.STATE, "x", 5, 4);
            engine.commit();
            refused("tensor", "the engine has been committed; declare all", () -> engine.tensor(Role.STATE, "y", 1, 1));
            String inside = "not possible inside replay 'outer'; call it before or after";
            refused("replay", inside, () -> engine.replay("outer", () -> engine.replay("inner", () -> {})));
            refused("decide", inside, () -> engine.replay("outer", () -> engine.decide(() -> {})));
            engine.close();
            refused("read", "the engine is closed; open another one", () -> engine.read(x));
        }
    }

    @ParameterizedTest
    @EnumSource
    void wrongDeclarations(Kind kind) {
        try (Engine engine = kind.open()) {
            refused("tensor", "'x' has shape (0,4)", () -> engine.tensor(Role.STATE, "x", 0, 4));
            refused("tensor", "'x' has shape (4,-1)", () -> engine.tensor(Role.STATE, "x", 4, -1));
            refused("tensor", "fewer than 2^31 numbers", () -> engine.tensor(Role.STATE, "x", 1 << 16, 1 << 15));
            refused("tensor", "role is null", () -> engine.tensor(null, "x", 1, 1));
            refused("tensor", "name is null", () -> engine.tensor(Role.STATE, null, 1, 1));
            Tensor whole = engine.tensor(Role.STATE, "whole", 5, 2);
            for (int[] rows : new int[][] {{-1, 1}, {0, 0}, {0, 6}, {4, 2}, {3, Integer.MAX_VALUE}}) {
                String words = "'part' takes " + rows[1] + " rows from row " + rows[0]
                        + " on, expected rows of 'whole', which has 5";
                refused("slice", words, () -> engine.slice(whole, "part", rows[0], rows[1]));
            }
            refused(
                    "slice",
                    "'other' belongs to another engine",
                    () -> engine.slice(new Handle("other", 9, 9), "part", 0, 1));
            Tensor part = engine.slice(whole, "part", 1, 3), inner = engine.slice(part, "inner", 2, 1);
            engine.commit();
            if (kind != Kind.NONE) {
                engine.write(whole, new double[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
                assertThat(engine.read(part)).containsExactly(2, 3, 4, 5, 6, 7);
                assertThat(engine.read(inner)).containsExactly(6, 7);
            }
        }
    }
}
