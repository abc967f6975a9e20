package hypertransfer.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.provider.Engines;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
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

    /** One at a time, exact masters too, as they lie in a checkpoint. */
    @ParameterizedTest
    @ValueSource(strings = {"reference", "cpu"})
    void storedAndLoaded(String name) {
        assumeTrue(name.equals("reference") || CpuEngine.missing().isEmpty(), "the cpu engine does not work here");
        try (Engine engine = Engines.open(name, DIMS);
                Arena arena = Arena.ofConfined()) {
            for (Role role : List.of(Role.MASTER, Role.EXACT_MASTER)) {
                engine.tensor(role, role.name(), 1, 1); // so that the others do not lie at the start
            }
            List<Tensor> from =
                    List.of(engine.tensor(Role.STATE, "a", 1, 3), engine.tensor(Role.EXACT_MASTER, "b", 1, 3));
            List<Tensor> to =
                    List.of(engine.tensor(Role.STATE, "c", 1, 3), engine.tensor(Role.EXACT_MASTER, "d", 1, 3));
            engine.commit();
            for (int i = 0; i < 2; i++) {
                Tensor tensor = from.get(i);
                engine.write(tensor, new double[] {1.0 / 3, -0.0, 1e-40});
                MemorySegment memory = arena.allocate(3L * tensor.numberBytes());
                engine.store(tensor, memory);
                assertThat(
                                tensor.numberBytes() == Double.BYTES
                                        ? memory.get(ValueLayout.JAVA_DOUBLE, 0)
                                        : memory.get(ValueLayout.JAVA_FLOAT, 0))
                        .isEqualTo(engine.read(tensor)[0]);
                engine.load(memory, to.get(i));
                assertThat(engine.read(to.get(i))).isEqualTo(engine.read(tensor));
                assertThatThrownBy(() -> engine.store(tensor, memory.asSlice(1)))
                        .isInstanceOf(EngineException.class)
                        .hasMessageStartingWith("store: to has " + (memory.byteSize() - 1) + " bytes, expected");
                assertThatThrownBy(() -> engine.replay("step", () -> engine.load(memory, tensor)))
                        .hasMessageContaining("load: not possible inside replay");
            }
        }
    }
}
