package hypertransfer.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.provider.Engines;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is packed and unpacked again is the same, bit for bit. */
class PackTest {
    private static final Dims DIMS = new Dims(1, 3, 8, 4, 5);

    @ParameterizedTest
    @ValueSource(strings = {"reference", "cpu"})
    void thereAndBack(String name) {
        assumeTrue(name.equals("reference") || CpuEngine.missing().isEmpty(), "the cpu engine does not work here");
        try (Engine engine = Engines.open(name, DIMS);
                Arena arena = Arena.ofConfined()) {
            List<Tensor> from = List.of(engine.tensor(Role.GRADIENT, "a", 3, 5), engine.tensor(Role.MASTER, "b", 2, 7));
            List<Tensor> to = List.of(engine.tensor(Role.GRADIENT, "c", 3, 5), engine.tensor(Role.MASTER, "d", 2, 7));
            engine.commit();
            for (Tensor tensor : from) {
                double[] values = new double[(int) tensor.size()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = i == 0 ? -0.0 : i == 1 ? Double.NEGATIVE_INFINITY : 1.0 / i;
                }
                engine.write(tensor, values);
            }
            long bytes =
                    from.stream().mapToLong(t -> t.size() * t.numberBytes()).sum();
            MemorySegment memory = arena.allocate(bytes);
            engine.pack(from, memory);
            engine.unpack(memory, to);
            for (int i = 0; i < 2; i++) {
                assertThat(engine.read(to.get(i))).isEqualTo(engine.read(from.get(i)));
            }
            assertThat(1 / engine.read(to.getFirst())[0]).isEqualTo(Double.NEGATIVE_INFINITY);
            assertThatThrownBy(() -> engine.pack(from, memory.asSlice(1)))
                    .isInstanceOf(EngineException.class)
                    .hasMessage("pack: to has " + (bytes - 1) + " bytes, expected " + bytes);
            assertThatThrownBy(() -> engine.replay("step", () -> engine.unpack(memory, to)))
                    .hasMessageContaining("unpack: not possible inside replay");
        }
    }
}
