package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.Status;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.command.machine.DoctorCommand;
import hypertransfer.lab.terminal.Exit;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class DoctorTest {
    private final StringWriter out = new StringWriter();

    private int run(List<Status> engines, String... args) {
        return new CommandLine(new DoctorCommand(() -> engines))
                .setOut(new PrintWriter(out))
                .execute(args);
    }

    private static final Status GOOD = new Status("a", "works well", "");
    private static final Status BAD = new Status("b", "fast", "install the driver");

    @Test
    void saysWhatIsHere() {
        assertThat(run(Engines.survey())).isZero();
        assertThat(out.toString())
                .contains(
                        "HyperTransfer ",
                        Runtime.version().toString(),
                        System.getProperty("java.home"),
                        System.getProperty("os.arch"),
                        Runtime.getRuntime().availableProcessors() + " cores",
                        System.getProperty("user.dir"),
                        " bits");
        assertThat(out.toString().lines().toList())
                .anyMatch(line -> line.matches("reference +yes +.+"))
                .anyMatch(line -> line.matches("cpu +(yes|no) +.+"))
                .anyMatch(line -> line.matches("cuda +(yes|no) +.+"))
                .anyMatch(line -> line.matches("mpi +(yes +Open MPI [45]|no +.*MPI).+"))
                .anyMatch(line -> line.matches("nccl +(yes +NCCL 2|no +NCCL).+"));
    }

    @Test
    void namesTheOneThingThatIsMissing() {
        assertThat(run(List.of(GOOD, BAD))).isZero();
        assertThat(out.toString().lines())
                .contains("a          yes   works well", "b          no    install the driver (fast)");
    }

    @Test
    void noEngineIsAFailedCheckAndJsonIsOnTheLastLine() {
        assertThat(run(List.of(BAD))).isEqualTo(Exit.CHECK_FAILED);
        assertThat(run(List.of(BAD), "--json")).isEqualTo(Exit.CHECK_FAILED);
        JsonNode report =
                JsonMapper.shared().readTree(out.toString().lines().toList().getLast());
        assertThat(report.at("/version/number").asString()).isNotEmpty();
        assertThat(report.at("/machine/jdk").asString())
                .isEqualTo(Runtime.version().toString());
        assertThat(report.at("/machine/cores").asInt())
                .isEqualTo(Runtime.getRuntime().availableProcessors());
        assertThat(report.at("/machine/free_disk").asLong()).isPositive();
        assertThat(report.at("/machine/vector_bits").asInt()).isIn(64, 128, 256, 512, 1024, 2048);
        assertThat(report.at("/engines/0").toString())
                .isEqualTo(
                        "{\"name\":\"b\",\"works\":false,\"description\":\"fast\",\"missing\":\"install the driver\"}");
    }
}
