package hypertransfer.engine.cpu;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hypertransfer.engine.Checked;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.reference.ReferenceEngine;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.function.Function;

/** The same tensors and the same operations on the cpu engine and on the reference. */
final class Pair implements AutoCloseable {
    private static final double EPSILON = Math.ulp(1f);

    final Engine cpu;
    private final Engine reference;
    private final Map<String, Tensor> ours = new LinkedHashMap<>();
    private final Map<String, Tensor> theirs = new LinkedHashMap<>();
    private final Random random = new Random(5);

    /** Nothing stands in for the cpu engine: without it tests fail, unless ht.engine demands another one. */
    Pair(Dims dims, int threads) {
        demanded();
        cpu = new Checked(new CpuEngine(dims, threads));
        reference = new Checked(new ReferenceEngine(dims));
    }

    static void demanded() {
        String engine = System.getProperty("ht.engine", "cpu");
        assumeTrue(engine.equals("cpu"), "ht.engine demands " + engine);
    }

    /** A name and its shape, after another; then all are filled with draws of that spread. */
    Pair tensor(String name, int rows, int cols) {
        ours.put(name, cpu.tensor(Role.ACTIVATION, name, rows, cols));
        theirs.put(name, reference.tensor(Role.ACTIVATION, name, rows, cols));
        return this;
    }

    Pair commit() {
        cpu.commit();
        reference.commit();
        ours.keySet().forEach(name -> fill(name, 1));
        return this;
    }

    Pair fill(String name, double spread) {
        double[] values = random.doubles(ours.get(name).size())
                .map(u -> (float) (spread * (2 * u - 1)))
                .toArray();
        cpu.write(ours.get(name), values);
        reference.write(theirs.get(name), values);
        return this;
    }

    Pair set(String name, double[] values) {
        cpu.write(ours.get(name), values);
        reference.write(theirs.get(name), values);
        return this;
    }

    Tensor ours(String name) {
        return ours.get(name);
    }

    Pair run(BiConsumer<Engine, Function<String, Tensor>> operation) {
        operation.accept(cpu, ours::get);
        operation.accept(reference, theirs::get);
        return this;
    }

    /** Equal up to the rounding of sums of {@code length} terms. */
    Pair same(int length, String... names) {
        for (String name : names) {
            same(name, length, cpu.read(ours.get(name)), reference.read(theirs.get(name)));
        }
        return this;
    }

    static void same(String name, int length, double[] met, double[] expected) {
        double largest = 0;
        for (double e : expected) {
            largest = Math.max(largest, Math.abs(e));
        }
        double limit = 8 * EPSILON * Math.sqrt(length) * largest;
        for (int i = 0; i < expected.length; i++) {
            assertThat(Math.abs(met[i] - expected[i]))
                    .as("%s[%d] is %s, should be %s", name, i, met[i], expected[i])
                    .isLessThanOrEqualTo(limit);
        }
    }

    /** Near in the mean, relative to the whole. */
    void near(double limit, String name) {
        double[] met = cpu.read(ours.get(name)), expected = reference.read(theirs.get(name));
        double distance = 0, length = 0;
        for (int i = 0; i < met.length; i++) {
            distance += (met[i] - expected[i]) * (met[i] - expected[i]);
            length += expected[i] * expected[i];
        }
        assertThat(Math.sqrt(distance / length)).as(name).isLessThanOrEqualTo(limit);
    }

    @Override
    public void close() {
        cpu.close();
        reference.close();
    }
}
