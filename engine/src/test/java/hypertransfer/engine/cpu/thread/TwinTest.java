package hypertransfer.engine.cpu.thread;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Operations;
import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.cpu.thread.Twin.Form;
import hypertransfer.engine.proof.Comparison;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

@Isolated("the form is the whole process's")
class TwinTest {
    @BeforeEach
    @AfterEach
    void whicheverIsFaster() {
        Twin.demand(Form.FASTER);
    }

    static List<Dims> sizes() {
        return List.of(
                new Dims(2, 13, 18, 6, 37), // rows with a remainder
                new Dims(1, 35, 32, 32, 300), // whole vectors, of any width
                new Dims(1, 70, 48, 8, 37, 2, 20, 33)); // shared keys, a narrow MLP and a window
    }

    /** Whatever any operation leaves in any tensor, to the bit, at the width of vectors that this JVM has. */
    @ParameterizedTest
    @MethodSource("sizes")
    void loopsAndVectorsHaveTheSameBits(Dims dims) {
        assertThat(numbers(Form.LOOPS, dims)).hasSizeGreaterThan(50).isEqualTo(numbers(Form.VECTORS, dims));
    }

    /** Every array that the engine returned, in the order of the operations. */
    private static List<List<Double>> numbers(Form form, Dims dims) {
        Twin.demand(form);
        List<List<Double>> numbers = new ArrayList<>();
        Comparison.twice(d -> recording(new CpuEngine(d, 1), numbers), dims);
        return numbers;
    }

    private static Engine recording(Engine engine, List<List<Double>> numbers) {
        return Operations.of((proxy, method, arguments) -> {
            Object result = method.invoke(Operations.owner(engine, method), arguments);
            if (result instanceof double[] array) {
                numbers.add(Arrays.stream(array).boxed().toList());
            }
            return result;
        });
    }

    @Test
    void vectorsTakeOverOnceTheyAreFaster() {
        long[] now = {1};
        int[] loops = {0}, vectors = {0};
        Twin twin = new Twin(
                (piece, worker) -> {
                    loops[0]++;
                    now[0] += 100;
                },
                (piece, worker) -> now[0] += vectors[0]++ < 3 ? 500 : 50,
                piece -> true,
                () -> now[0],
                new Twin.Budget());
        Twin.stepped();
        for (int piece = 0; piece < 1000; piece++) {
            twin.piece(piece, 0);
        }
        assertThat(twin.ready()).isTrue();
        assertThat(loops[0]).isEqualTo(5 * 16); // three attempts that fail and two that win, one piece in seventeen
        assertThat(loops[0] + vectors[0]).isEqualTo(1000);
    }

    /** A piece of loops that had to wait for a processor says nothing about loops. */
    @Test
    void loopsStayWhileTheyAreFaster() {
        long[] now = {1};
        Twin twin = new Twin(
                (piece, worker) -> now[0] += piece % 40 == 30 ? 1_000_000 : 100,
                (piece, worker) -> now[0] += 200,
                piece -> true,
                () -> now[0],
                new Twin.Budget());
        Twin.stepped();
        for (int piece = 0; piece < 255 * 17; piece++) {
            twin.piece(piece, 0);
        }
        assertThat(twin.ready()).isFalse();
        for (int piece = 0; piece < 17; piece++) {
            twin.piece(piece, 0);
        }
        assertThat(twin.ready()).isTrue(); // the last attempt of all
    }

    @Test
    void attemptsTakeAThirdOfTheTimeAtMost() {
        long[] now = {1}, tried = {0};
        Twin twin = new Twin(
                (piece, worker) -> now[0] += 100,
                (piece, worker) -> {
                    now[0] += 100_000;
                    tried[0] += 100_000;
                },
                piece -> true,
                () -> now[0],
                new Twin.Budget());
        Twin.stepped();
        for (int piece = 0; piece < 100_000; piece++) {
            twin.piece(piece, 0);
        }
        assertThat(tried[0]).isBetween(now[0] / 4, now[0] / 3 + 100_000);
    }
}
