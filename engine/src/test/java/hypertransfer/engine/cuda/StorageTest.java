package hypertransfer.engine.cuda;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Memory;
import hypertransfer.engine.Role;
import hypertransfer.engine.cuda.kernel.Blocks;
import hypertransfer.engine.cuda.kernel.DeviceTensor;
import hypertransfer.engine.cuda.kernel.Geometry;
import hypertransfer.engine.cuda.kernel.Precision;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class StorageTest {
    private static final Dims GPT2 = new Dims(64, 1024, 768, 128, 50304);
    private static final long MATRIX = 4L * 768 * 768, SIDE = 768;

    private static Memory plan(int B) {
        Dims dims = new Dims(B, 1024, 768, 128, 50304);
        DeviceTensor weight = new DeviceTensor("w", 50304, 768, Precision.BF16);
        DeviceTensor stream = new DeviceTensor("h", dims.N(), 768, Precision.BF16);
        long scratch = new Scratch(0, dims, Precision.BF16, MATRIX, SIDE).bytes();
        return Storage.memory(Map.of(Role.WEIGHT, List.of(weight), Role.ACTIVATION, List.of(stream)), scratch);
    }

    @Test
    void countsAlignedBytes() {
        DeviceTensor a = new DeviceTensor("a", 1, 3, Precision.FLOAT32);
        DeviceTensor b = new DeviceTensor("b", 1, 65, Precision.FLOAT32);
        Memory memory = Storage.memory(Map.of(Role.STATE, List.of(a, b)), 10);
        assertThat(memory.bytes()).containsEntry(Role.STATE, 256L + 512L).containsEntry(Role.SCRATCH, 10L);
    }

    @Test
    void theLargestBatchFitsAndNoLargerDoes() {
        for (int B : new int[] {1, 7, 40, 63}) {
            long room = plan(B).total();
            int largest = Storage.largestBatch(plan(64), room, GPT2, Precision.BF16, MATRIX, SIDE);
            assertThat(largest).isGreaterThanOrEqualTo(B); // a larger one may need less, its logits dividing better
            assertThat(plan(largest).total()).isLessThanOrEqualTo(room);
            for (int more = largest + 1; more < 64; more++) {
                assertThat(plan(more).total()).isGreaterThan(room);
            }
        }
    }

    @Test
    void refusesWithTheTableAndTheBatch() {
        assertThat(Storage.refusal(plan(64), plan(63).total(), GPT2, Precision.BF16, MATRIX, SIDE))
                .contains("activation")
                .contains("total")
                .contains("the largest batch that fits is 63");
        assertThat(Storage.refusal(plan(64), 1, GPT2, Precision.BF16, MATRIX, SIDE))
                .contains("not even a batch of 1");
    }

    @Test
    void logitsComeInEqualChunksWhereTheyCan() {
        assertThat(Scratch.chunk(GPT2, Precision.BF16)).isEqualTo(8192);
        assertThat(Scratch.chunk(GPT2, Precision.FLOAT32)).isEqualTo(4096);
        assertThat(Scratch.chunk(new Dims(3, 24, 32, 16, 61), Precision.FLOAT32))
                .isEqualTo(72);
        int odd = Scratch.chunk(new Dims(25, 999, 768, 128, 50304), Precision.BF16);
        assertThat((long) odd * 50304 * 2).isBetween(1L << 29, 1L << 30);
    }

    @Test
    void scratchPartsFollowEachOther() {
        Scratch s = new Scratch(0, GPT2, Precision.BF16, MATRIX, SIDE);
        long[] starts = {
            s.tokens, s.rotary, s.partial, s.delta, s.row, s.sums, s.results, s.blas, s.schulz, s.logits, s.target,
            s.top, s.powers, s.factors, s.scaled
        };
        long[] sizes = {
            4 * (4L * 65536 + 1),
            1024 * 64 * 8,
            4L * Geometry.ROW_BLOCKS * 768,
            4L * 65536 * 6,
            4 * 50304,
            24L * Geometry.MAX_LIST * Geometry.SHARES,
            24L * Scratch.MAX_RESULTS,
            Blas.WORKSPACE_BYTES,
            s.schulzBytes,
            8192L * 50304 * 2,
            4L * 65536,
            4L * 65536,
            4L * 8192 * 197,
            4L * 8192,
            8192L * 768 * 2
        };
        for (int i = 0; i < starts.length; i++) {
            long end = i + 1 < starts.length ? starts[i + 1] : s.bytes();
            assertThat(end - starts[i]).isBetween(sizes[i], sizes[i] + Scratch.ALIGNMENT);
            assertThat(starts[i] % Scratch.ALIGNMENT).isZero();
        }
    }

    /** Few words, so that attention keeps more than their logits take. */
    @Test
    void attentionHasRoomWhereTheLogitsWouldBe() {
        Dims dims = new Dims(2, 256, 256, 128, 61);
        Scratch s = new Scratch(0, dims, Precision.BF16, MATRIX, SIDE);
        assertThat(s.target - s.logits).isGreaterThanOrEqualTo(Blocks.scratch(dims, Precision.BF16));
        assertThat(Blocks.scratch(dims, Precision.BF16)).isGreaterThan(512L * 61 * 2);
    }

    @Test
    void theRoleAloneDecidesTheFormat() {
        List<Role> narrow = List.of(Role.WEIGHT, Role.ACTIVATION, Role.OPERAND, Role.OPERAND_GRADIENT, Role.SCRATCH);
        for (Role role : Role.values()) {
            assertThat(Storage.format(role, Precision.BF16))
                    .as(role.name())
                    .isEqualTo(
                            narrow.contains(role)
                                    ? Precision.BF16
                                    : role == Role.EXACT_MASTER ? Precision.FLOAT64 : Precision.FLOAT32);
        }
    }

    @Test
    void newtonSchulzTakesAsManyAsFit() {
        Scratch scratch = new Scratch(0, GPT2, Precision.BF16, MATRIX, SIDE);
        assertThat(SchulzBatch.of(3072, 768, false, scratch.schulzBytes).batch())
                .isEqualTo(12);
        assertThat(SchulzBatch.of(768, 3072, true, scratch.schulzBytes).batch()).isEqualTo(24);
        assertThat(SchulzBatch.of(768, 768, true, scratch.schulzBytes).batch()).isEqualTo(60);
        refused(() -> SchulzBatch.of(50304, 768, false, 1000), "50304 x 768");
    }
}
