package hypertransfer.engine.proof;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Layers.Norm;
import hypertransfer.engine.Operations;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.door.Checked;
import hypertransfer.engine.proof.Result.Tolerance;
import hypertransfer.engine.reference.ReferenceEngine;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** An engine that is wrong in one operation is caught, and in that operation. */
class CrookedTest {
    private static final Dims DIMS = new Dims(2, 3, 4, 2, 5);

    /** What {@link Operations#TABLE} does not have, written as there. */
    private static final String OTHERS = """
            cut !whole !blocks back
            gram g scale beta !left !right
            rotate !g left right back
            refine gram shift !basis
            """;

    private static final int RETURNED = -1;

    /** How an operation can be wrong. */
    enum Wrong {
        ONE_NUMBER,
        NOT_A_NUMBER,
        NOTHING_DONE
    }

    record Case(String operation, int output, Wrong wrong) {}

    static Stream<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (String line : (Operations.TABLE + OTHERS).split("\n")) {
            String[] words = line.split(" ");
            for (int i = 1; i < words.length; i++) {
                int output = words[i].equals("!") ? RETURNED : i - 1;
                if (words[i].startsWith("!")) {
                    Stream.of(Wrong.values()).forEach(wrong -> cases.add(new Case(words[0], output, wrong)));
                }
            }
        }
        return cases.stream();
    }

    private interface Alteration {
        Object call(Engine engine, Method method, Object[] args) throws ReflectiveOperationException;
    }

    /** The reference, except in one operation; checked like every engine. */
    private static Engine altered(Dims dims, String operation, Alteration alteration) {
        Engine engine = new ReferenceEngine(dims);
        return Checked.of(
                Operations.of((proxy, method, args) -> method.getName().equals(operation)
                        ? alteration.call(engine, method, args)
                        : method.invoke(Operations.owner(engine, method), args)));
    }

    private static Engine crooked(Dims dims, Case c) {
        return altered(dims, c.operation, (engine, method, args) -> {
            if (c.output == RETURNED) {
                return bent(c.wrong, method.invoke(Operations.owner(engine, method), args));
            }
            if (c.wrong != Wrong.NOTHING_DONE) {
                method.invoke(Operations.owner(engine, method), args);
                Tensor tensor = switch (args[c.output]) {
                    case List<?> list -> (Tensor) list.getLast();
                    case Norm norm -> c.operation.endsWith("Backward") ? norm.dgain() : norm.r();
                    case null, default -> (Tensor) args[c.output];
                };
                if (tensor != null) {
                    double[] values = engine.read(tensor);
                    bend(c.wrong, values);
                    engine.write(tensor, values);
                }
            }
            return null;
        });
    }

    private static Object bent(Wrong wrong, Object returned) {
        double[] values = returned instanceof Double value ? new double[] {value} : (double[]) returned;
        if (wrong == Wrong.NOTHING_DONE) {
            Arrays.fill(values, 0);
        } else {
            bend(wrong, values);
        }
        return returned instanceof Double ? (Object) values[0] : values;
    }

    /** The last number is off by a thousandth of the largest. */
    private static void bend(Wrong wrong, double[] values) {
        double largest = Arrays.stream(values).map(Math::abs).max().orElseThrow();
        values[values.length - 1] += wrong == Wrong.NOT_A_NUMBER ? Double.NaN : largest == 0 ? 1 : largest / 1000;
    }

    @ParameterizedTest
    @MethodSource("cases")
    void isCaught(Case c) {
        List<Result> results = Comparison.run(dims -> crooked(dims, c), DIMS);
        List<String> refused = results.stream()
                .filter(result -> !Tolerance.of(Format.FLOAT32).accepts(result))
                .map(Result::operation)
                .toList();
        assertThat(refused).anyMatch(operation -> operation.split(" ")[0].equals(c.operation));
        if (c.wrong != Wrong.NOT_A_NUMBER) { // which spreads
            assertThat(refused).allMatch(operation -> operation.split(" ")[0].equals(c.operation));
        }
    }

    @Test
    void theReferenceItselfAgreesToTheLastBit() {
        List<Result> results = Comparison.run(dims -> Checked.of(new ReferenceEngine(dims)), DIMS);
        assertThat(results).hasSizeGreaterThan(80).allMatch(result -> result.error() == 0 && result.roundings() == 0);
    }

    /** Wrong tokens are caught by what reads them. */
    @Test
    void aWrongFeedIsCaught() {
        List<Result> results = Comparison.run(
                dims -> altered(dims, "feed", (engine, method, args) -> {
                    args[0] = IntStream.of((int[]) args[0])
                            .map(token -> (token + 1) % dims.V())
                            .toArray();
                    return method.invoke(engine, args);
                }),
                DIMS);
        assertThat(results)
                .filteredOn(result -> !Tolerance.of(Format.FLOAT32).accepts(result))
                .extracting(Result::operation)
                .containsExactly("embed", "embedBackward");
    }

    /** What the comparison cannot see is named here. */
    @Test
    void everyOperationIsCompared() {
        String compared = cases().map(Case::operation).collect(Collectors.joining("\n"));
        assertThat(Operations.except(compared)).containsExactly("decide", "feed", "read");
    }
}
