package hypertransfer.train.data;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.OptionalLong;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class BatchesTest {
    /** Tokens 0, 1, 2, ... in parts of the given sizes. */
    private static Corpus corpus(int... sizes) {
        Shard[] parts = new Shard[sizes.length];
        int from = 0;
        for (int i = 0; i < sizes.length; i++) {
            byte[] bytes = new byte[sizes[i]];
            for (int j = 0; j < bytes.length; j++) {
                bytes[j] = (byte) from++;
            }
            parts[i] = Shard.of("part " + i, bytes);
        }
        return new Corpus(List.of(parts));
    }

    private record Pair(int[] inputs, int[] targets) {
        static Pair of(Batches batches, long step, int micro) {
            Pair pair = new Pair(new int[batches.size()], new int[batches.size()]);
            batches.fill(step, micro, pair.inputs, pair.targets);
            return pair;
        }
    }

    private static int[] range(int from, int count) {
        return IntStream.range(from, from + count).toArray();
    }

    @Test
    void windowsAdvanceByTheirSizeAcrossShardsAndWrapAround() {
        // 26 tokens, windows of 2*4: inputs 0..7, 8..15, 16..23; the last target is 24, and 25 fills no window.
        Batches batches = new Batches(corpus(5, 14, 7), 8, 2, OptionalLong.empty());
        assertThat(batches.count()).isEqualTo(3);
        int index = 0;
        for (int step = 0; step < 10; step++) {
            for (int micro = 0; micro < 2; micro++, index++) {
                Pair pair = Pair.of(batches, step, micro);
                assertThat(pair.inputs).containsExactly(range(8 * (index % 3), 8));
                assertThat(pair.targets).containsExactly(range(8 * (index % 3) + 1, 8));
            }
        }
    }

    private static Batches inOrder(int tokens, int batch, int sequence) {
        return new Batches(corpus(tokens), batch * sequence, 1, OptionalLong.empty());
    }

    @Test
    void theLastWindowEndsWithTheLastToken() {
        assertThat(inOrder(25, 2, 4).count()).isEqualTo(3);
        assertThat(inOrder(24, 2, 4).count()).isEqualTo(2);
        assertThat(inOrder(9, 2, 4).count()).isEqualTo(1);
        assertThat(Pair.of(inOrder(25, 2, 4), 2, 0).targets).containsExactly(range(17, 8));
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 1234})
    void aStepIsTheSameWhereverOneStarts(int seed) {
        OptionalLong shuffle = seed < 0 ? OptionalLong.empty() : OptionalLong.of(seed);
        Batches straight = new Batches(corpus(200), 9, 3, shuffle);
        for (int step = 0; step < 40; step++) {
            Batches resumed = new Batches(corpus(150, 50), 9, 3, shuffle);
            assertThat(Pair.of(resumed, step, 2).targets).containsExactly(Pair.of(straight, step, 2).targets);
        }
    }

    @Test
    void farStepsDoNotOverflow() {
        Batches batches = new Batches(corpus(200), 9, 1000, OptionalLong.empty());
        assertThat(batches.window(1L << 40, 7)).isEqualTo(((1L << 40) * 1000 + 7) % 22);
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4096, 4097})
    void aShuffledEpochHasEveryWindowOnce(long n) {
        for (long key = 0; key < 20; key++) {
            Permutation permutation = new Permutation(n, key);
            assertThat(LongStream.range(0, n).map(permutation::at).sorted().toArray())
                    .containsExactly(LongStream.range(0, n).toArray());
        }
    }

    @Test
    void shufflesDifferByEpochAndSeed() {
        Batches batches = new Batches(corpus(201), 2, 1, OptionalLong.of(1));
        Batches other = new Batches(batches.corpus(), 2, 1, OptionalLong.of(2));
        long[] first = order(batches, 0), second = order(batches, 1);
        assertThat(first)
                .isNotEqualTo(LongStream.range(0, 100).toArray())
                .isNotEqualTo(second)
                .isNotEqualTo(order(other, 0))
                .containsExactlyInAnyOrder(second);
    }

    private static long[] order(Batches batches, int epoch) {
        long count = batches.count();
        return LongStream.range(epoch * count, (epoch + 1) * count)
                .map(step -> batches.window(step, 0))
                .toArray();
    }

    @Test
    void aShuffleScattersNeighbours() {
        // Of a random permutation of 10,000 about 1 pair stays adjacent and the displacement averages n/3.
        int n = 10_000;
        long[] order = LongStream.range(0, n).map(new Permutation(n, 42)::at).toArray();
        long adjacent =
                IntStream.range(1, n).filter(i -> order[i] == order[i - 1] + 1).count();
        double displacement = IntStream.range(0, n)
                .mapToLong(i -> Math.abs(order[i] - i))
                .average()
                .orElseThrow();
        assertThat(adjacent).isLessThan(10);
        assertThat(displacement).isBetween(0.32 * n, 0.35 * n);
    }

    @Test
    void refusesACorpusSmallerThanOneWindow() {
        assertRefused(() -> inOrder(8, 2, 4), "part 0", "8 tokens", "takes 9", "smaller batch");
    }
}
