import hypertransfer.core.Coefficients;
import hypertransfer.core.array.Muon;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Variant;
import java.util.List;
import java.util.Random;

/**
 * Newton-Schulz on plain arrays ({@code core}, double) beside that of the cpu engine (float, OpenBLAS), in turns, the same number
 * of processors: {@code java @bin/jvm.options -cp 'lab/target/*:lab/target/app/*' bench/Schulz.java 256 768}
 */
class Schulz {
    public static void main(String[] widths) {
        for (String width : widths) {
            int n = Integer.parseInt(width);
            double[] m = new Random(1).doubles((long) n * n, -1, 1).toArray();
            Architecture architecture = new Architecture(Variant.M1, 32, 1, n, 32, 8);
            var steps = Coefficients.JORDAN.steps(0).stream()
                    .map(s -> new Iteration.Step(s.a(), s.b(), s.c()))
                    .toList();
            try (Engine engine = Engines.open("cpu", architecture.dims(1))) {
                Tensor x = engine.tensor(Role.HIDDEN_GRADIENT, "x", n, n);
                engine.commit();
                double ours = Double.MAX_VALUE, blas = Double.MAX_VALUE;
                for (int round = 0; round < 12; round++) {
                    long begun = System.nanoTime();
                    new Muon().orthogonalized(m, n, n);
                    ours = Math.min(ours, (System.nanoTime() - begun) / 1e6);
                    engine.write(x, m);
                    begun = System.nanoTime();
                    engine.motion().orthogonalize(List.of(x), new Iteration(steps, false));
                    engine.await();
                    blas = Math.min(blas, (System.nanoTime() - begun) / 1e6);
                }
                System.out.printf("%d x %d: plain arrays %.1f ms, cpu engine %.1f ms, ratio %.2f%n", n, n, ours, blas, blas / ours);
            }
        }
    }
}
