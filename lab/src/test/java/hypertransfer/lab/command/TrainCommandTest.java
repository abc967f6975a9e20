package hypertransfer.lab.command;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.ranks.Ranks;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrainCommandTest {
    /** The first of two ranks, which says when it ends the other. */
    private static final class First implements Ranks {
        @Override
        public int rank() {
            return 0;
        }

        @Override
        public int size() {
            return 2;
        }

        @Override
        public String label() {
            return "two ranks";
        }

        @Override
        public Delivery begin(List<MemorySegment> out, List<MemorySegment> in) {
            throw new AssertionError("nobody is there");
        }

        @Override
        public void gather(List<MemorySegment> parts) {
            throw new AssertionError("nobody is there");
        }

        @Override
        public List<byte[]> all(byte[] own) {
            throw new AssertionError("nobody is there");
        }

        @Override
        public void abort(int code) {
            System.out.println("all ranks end with " + code);
        }
    }

    /** A process of its own: the others are ended when it ends. */
    static final class Failing {
        public static void main(String[] args) {
            TrainCommand.together(new First(), ranks -> {
                if (args[0].equals("memory")) {
                    throw new OutOfMemoryError("of a test");
                } else if (args[0].equals("defect")) {
                    throw new StackOverflowError("of a test");
                }
                throw new IllegalStateException("of a test");
            });
        }
    }

    /** Only exceptions ended the others; with an OutOfMemoryError they waited for mpirun, or for ranks.limit. */
    @ParameterizedTest
    @ValueSource(strings = {"memory", "defect", "exception"})
    void whateverEndsOneRankEndsAll(String failure) throws Exception {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        Process process = new ProcessBuilder(
                        java.toString(),
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        Failing.class.getName(),
                        failure)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertThat(process.inputReader().readAllAsString().strip())
                .isEqualTo("all ranks end with " + (failure.equals("memory") ? 4 : 70));
    }
}
