package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.JAVA_BYTE;

import java.lang.foreign.MemorySegment;

/** How a product is computed: cuBLASLt's descriptor of it, its three layouts, and the algorithm. */
record Plan(String name, long descriptor, long a, long b, long c, MemorySegment algorithm) {
    void take(byte[] chosen) {
        MemorySegment.copy(chosen, 0, algorithm, JAVA_BYTE, 0, chosen.length);
    }

    byte[] bytes() {
        return algorithm.toArray(JAVA_BYTE);
    }
}
