package crooked.lab;

import crooked.train.Train;
import java.lang.foreign.MemorySegment;
import org.bytedeco.crooked.Blas;

/** Knows what only engines may. */
public record Lab(Train train, Blas blas, MemorySegment memory) {
    void write() throws java.io.IOException {
        java.nio.file.Files.writeString(java.nio.file.Path.of("x"), "");
    }
}
