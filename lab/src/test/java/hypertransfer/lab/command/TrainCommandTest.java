package hypertransfer.lab.command;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.ranks.Ranks;
import hypertransfer.lab.command.option.Options;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TrainCommandTest {
    /** The first of two ranks, which says when it ends the other. */
    private static Ranks first() {
        return (Ranks) Proxy.newProxyInstance(
                Ranks.class.getClassLoader(), new Class<?>[] {Ranks.class}, (proxy, method, args) -> {
                    if (method.getName().equals("abort")) {
                        System.out.println("all ranks end with " + args[0]);
                        return null;
                    }
                    return method.getName().equals("size") ? 2 : 0; // their number, or the own one
                });
    }

    /** A process of its own: the others are ended when it ends. */
    static final class Failing {
        public static void main(String[] args) {
            TrainCommand.together(first(), ranks -> {
                if (args[0].equals("memory")) {
                    throw new OutOfMemoryError("of a test");
                } else if (args[0].equals("defect")) {
                    throw new StackOverflowError("of a test");
                }
                throw new IllegalStateException("of a test");
            });
        }
    }

    /** It was {@code out/config}. */
    @Test
    void theConfigurationOfARunIsCalledAsTheRun() {
        Path file = Path.of("there", "muon", "config.yaml");
        assertThat(Options.Out.named(file, "")).isEqualTo(Path.of("out", "muon"));
        assertThat(Options.Out.named(file, "-sweep")).isEqualTo(Path.of("out", "muon-sweep"));
        assertThat(Options.Out.named(Path.of("mine.yml"), "")).isEqualTo(Path.of("out", "mine"));
    }

    /** Only exceptions ended the others; with an OutOfMemoryError they waited for mpirun, or for ranks.limit. */
    @ParameterizedTest
    @ValueSource(strings = {"memory", "defect", "exception"})
    void whateverEndsOneRankEndsAll(String failure) throws Exception {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        String name = Failing.class.getName(), classes = System.getProperty("java.class.path");
        Process process = new ProcessBuilder("" + java, "-XX:TieredStopAtLevel=1", "-cp", classes, name, failure)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        assertThat(process.inputReader().readAllAsString().strip())
                .isEqualTo("all ranks end with " + (failure.equals("memory") ? 4 : 70));
    }
}
