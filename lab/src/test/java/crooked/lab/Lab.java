package crooked.lab;

import crooked.engine.cpu.Cpu;
import crooked.train.Train;
import java.lang.foreign.MemorySegment;
import org.bytedeco.crooked.Blas;

/** Knows what only engines may. */
public record Lab(Train train, Blas blas, MemorySegment memory, Cpu engine) {
    void write() throws java.io.IOException {
        java.nio.file.Files.writeString(java.nio.file.Path.of("x"), "");
    }
}
