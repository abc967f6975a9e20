package hypertransfer.engine;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.cpu.CpuEngine;
import hypertransfer.engine.provider.Engines;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is packed and unpacked, or stored and loaded, is the same bit for bit. */
class PackTest {
    private static final double[] VALUES = {-0.0, Double.NEGATIVE_INFINITY, 1.0 / 3, 1e-40, 7, -1e30};

    @ParameterizedTest
    @ValueSource(strings = {"reference", "cpu"})
    void thereAndBack(String name) {
        assumeTrue(name.equals("reference") || CpuEngine.missing().isEmpty(), "the cpu engine does not work here");
        try (Engine engine = Engines.open(name, new Dims(1, 3, 8, 4, 5));
                Arena arena = Arena.ofConfined()) {
            List<Tensor> from = new ArrayList<>(), to = new ArrayList<>();
            for (Role role : List.of(Role.GRADIENT, Role.MASTER, Role.EXACT_MASTER)) {
                engine.tensor(role, "first", 1, 1); // so that the others do not lie at the start
                from.add(engine.tensor(role, "from", 2, 3));
                to.add(engine.tensor(role, "to", 2, 3));
            }
            engine.commit();
            from.forEach(tensor -> engine.write(tensor, VALUES));
            List<Tensor> plain = from.subList(0, 2), copies = to.subList(0, 2);
            long bytes =
                    plain.stream().mapToLong(t -> t.size() * t.numberBytes()).sum();
            MemorySegment packed = arena.allocate(bytes);
            engine.pack(plain, packed);
            engine.unpack(packed, copies);
            for (int i = 0; i < 2; i++) {
                assertThat(engine.read(to.get(i))).isEqualTo(engine.read(from.get(i)));
                engine.zero(List.of(to.get(i)));
            }
            refused(
                    () -> engine.pack(plain, packed.asSlice(1)),
                    "pack: to has " + (bytes - 1) + " bytes, expected " + bytes);
            refused(
                    () -> engine.replay("step", () -> engine.unpack(packed, copies)),
                    "unpack: not possible inside replay");
            for (int i = 0; i < 3; i++) { // one at a time, exact masters too, as they lie in a checkpoint
                Tensor tensor = from.get(i);
                MemorySegment stored = arena.allocate(tensor.size() * tensor.numberBytes());
                engine.store(tensor, stored);
                assertThat(
                                tensor.numberBytes() == Double.BYTES
                                        ? stored.get(ValueLayout.JAVA_DOUBLE, 2L * Double.BYTES)
                                        : stored.get(ValueLayout.JAVA_FLOAT, 2L * Float.BYTES))
                        .isEqualTo(engine.read(tensor)[2]);
                engine.load(stored, to.get(i));
                assertThat(engine.read(to.get(i))).isEqualTo(engine.read(tensor));
                refused(
                        () -> engine.store(tensor, stored.asSlice(1)),
                        "store: to has " + (stored.byteSize() - 1) + " bytes, expected");
                refused(
                        () -> engine.replay("step", () -> engine.load(stored, tensor)),
                        "load: not possible inside replay");
            }
            assertThat(1 / engine.read(to.getFirst())[0]).isEqualTo(Double.NEGATIVE_INFINITY);
        }
    }
}
