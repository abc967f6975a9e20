package hypertransfer.train.cpu;

import hypertransfer.train.Rig;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Variant;
import java.lang.management.ManagementFactory;

/**
 * Run in a JVM of its own: what other tests have trained before decides how the compiler sees vectors through. Prints the
 * bytes that a step allocates once they are compiled.
 */
final class Garbage {
    private Garbage() {}

    public static void main(String[] args) {
        long perStep = Long.MAX_VALUE;
        try (Rig run = Rig.cpu(new Architecture(Variant.M1, 11, 1, 64, 32, 32), 2, 1)) {
            var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
            for (int round = 0; round < 40 && perStep > MemoryTest.HARDLY_ANY; round++) {
                long before = threads.getCurrentThreadAllocatedBytes();
                for (int t = 0; t < 100; t++) {
                    run.step(0.01);
                }
                perStep = (threads.getCurrentThreadAllocatedBytes() - before) / 100;
            }
        }
        System.out.println(perStep);
    }
}
