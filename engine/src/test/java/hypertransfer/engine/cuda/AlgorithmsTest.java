package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.lang.foreign.ValueLayout.JAVA_SHORT;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.cuda.driver.Plans;
import hypertransfer.engine.cuda.kernel.Precision;
import hypertransfer.engine.foreign.Native;
import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;

class AlgorithmsTest {
    private static final long WORKSPACE = 64 << 20;
    private static final byte[] FIRST = new byte[Plans.ALGORITHM_BYTES], SECOND = new byte[Plans.ALGORITHM_BYTES];
    private static final Blas.Plan PLAN = new Blas.Plan("plan", 0, 0, 0, 0, MemorySegment.NULL);

    static {
        SECOND[2 * 5] = 1; // another kind
    }

    /** A library whose algorithms are their attributes, two bytes each, and which accepts some of them. */
    private record Library(boolean changes, Predicate<Made> accepted, long needs) implements Native {
        @Override
        public String name() {
            return "a library";
        }

        @Override
        public int call(String function, Object... a) {
            if (function.endsWith("ConfigSetAttribute") && changes) {
                short value = ((MemorySegment) a[2]).get(JAVA_SHORT, 0);
                ((MemorySegment) a[0]).set(JAVA_SHORT, 2L * (int) a[1], value);
            } else if (function.endsWith("ConfigGetAttribute")) {
                ((MemorySegment) a[2]).set(JAVA_INT, 0, ((MemorySegment) a[0]).get(JAVA_SHORT, 2L * (int) a[1]));
            } else if (function.endsWith("AlgoCheck")) {
                ((MemorySegment) a[7]).set(JAVA_LONG, 64, needs);
                return accepted.test(made(((MemorySegment) a[6]).toArray(JAVA_BYTE))) ? 0 : 15;
            }
            return function.endsWith("ConfigSetAttribute") && !changes ? 7 : 0;
        }
    }

    private record Made(int tile, int parts, int sum, int kind, int cluster) {}

    private static Made made(byte[] algorithm) {
        return new Made(
                Byte.toUnsignedInt(algorithm[2]) + 256 * algorithm[3],
                algorithm[4],
                algorithm[6],
                algorithm[10],
                algorithm[16]);
    }

    private static List<Made> others(Library library, int m, int n) {
        Product p = Product.of(new Product.Shape(false, true, m, n, 32768), Precision.BF16, Precision.FLOAT32, 256);
        return new Algorithms(new CardLibrary(library, "a card", "cublasLt"), WORKSPACE, 132)
                .others(p, PLAN, List.of(FIRST, FIRST.clone(), SECOND)).stream()
                        .map(AlgorithmsTest::made)
                        .toList();
    }

    @Test
    void tilesThatShareTheWorkOutEvenlyComeFirst() {
        List<Made> others = others(new Library(true, made -> true, 0), 5120, 1280);
        assertThat(others).hasSize(3 * 8).doesNotHaveDuplicates();
        assertThat(others.subList(0, 6))
                .as("260 tiles of 200 x 128 in two turns of 132, in whole sums, both kinds, three clusters")
                .contains(new Made(212, 1, 0, 0, 2), new Made(212, 1, 0, 0, 3), new Made(212, 1, 0, 0, 5))
                .contains(new Made(212, 1, 0, 1, 2), new Made(212, 1, 0, 1, 3), new Made(212, 1, 0, 1, 5));
        assertThat(others)
                .as("208 x 128 as well; 128 x 256 would need two turns for 200 tiles")
                .contains(new Made(215, 1, 0, 0, 2))
                .noneMatch(made -> made.tile == 23);
        assertThat(others(new Library(true, made -> true, 0), 768, 2304))
                .as("66 tiles of 128 x 216, each in two parts")
                .contains(new Made(413, 2, 2, 0, 3));
    }

    @Test
    void onlyWhatTheLibraryAcceptsAndHasRoomForIsTaken() {
        assertThat(others(new Library(true, made -> made.tile == 23 && made.cluster == 2, 0), 5120, 1280))
                .containsExactlyInAnyOrder(
                        new Made(23, 1, 0, 0, 2),
                        new Made(23, 2, 2, 0, 2),
                        new Made(23, 3, 2, 0, 2),
                        new Made(23, 1, 0, 1, 2),
                        new Made(23, 2, 2, 1, 2),
                        new Made(23, 3, 2, 1, 2));
        assertThat(others(new Library(true, made -> true, WORKSPACE + 1), 5120, 1280))
                .isEmpty();
    }

    @Test
    void whatIsOfferedIsKeptForManyTilesAndByAnOlderLibrary() {
        assertThat(others(new Library(true, made -> true, 0), 1280, 32768)).isEmpty();
        assertThat(others(new Library(false, made -> true, 0), 5120, 1280)).isEmpty();
    }
}
