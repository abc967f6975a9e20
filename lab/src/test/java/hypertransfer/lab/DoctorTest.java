package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.engine.EngineException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

class DoctorTest {
    private final StringWriter out = new StringWriter();

    private int run(Map<String, Engines.Probe> probes, String... args) {
        return new CommandLine(new Doctor(probes)).setOut(new PrintWriter(out)).execute(args);
    }

    private static String broken() {
        throw new EngineException("install the driver");
    }

    private static String unloadable() {
        throw new UnsatisfiedLinkError("no openblas in java.library.path");
    }

    @Test
    void saysWhatIsHere() {
        assertThat(run(Engines.probes())).isZero();
        assertThat(out.toString())
                .contains(
                        "HyperTransfer ",
                        Runtime.version().toString(),
                        System.getProperty("java.home"),
                        System.getProperty("os.arch"),
                        Runtime.getRuntime().availableProcessors() + " cores",
                        System.getProperty("user.dir"),
                        " bits");
        assertThat(out.toString().lines()).anyMatch(line -> line.matches("reference +yes +.+"));
        assertThat(out.toString().lines()).anyMatch(line -> line.matches("cpu +(yes|no) +.+"));
        assertThat(out.toString().lines()).anyMatch(line -> line.matches("cuda +(yes|no) +.+"));
    }

    @Test
    void namesTheOneThingThatIsMissing() {
        var probes = new LinkedHashMap<String, Engines.Probe>();
        probes.put("a", () -> "works well");
        probes.put("b", DoctorTest::broken);
        probes.put("c", DoctorTest::unloadable);
        assertThat(run(probes)).isZero();
        assertThat(out.toString().lines())
                .contains(
                        "a          yes   works well",
                        "b          no    install the driver",
                        "c          no    its native library does not load: no openblas in java.library.path");
    }

    @Test
    void noEngineIsAFailedCheck() {
        assertThat(run(Map.of("a", DoctorTest::broken))).isEqualTo(Exit.CHECK_FAILED);
    }

    @Test
    void jsonOnTheLastLine() {
        assertThat(run(Map.of("a", DoctorTest::broken), "--json")).isEqualTo(Exit.CHECK_FAILED);
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
                .isEqualTo("{\"engine\":\"a\",\"works\":false,\"detail\":\"install the driver\"}");
    }
}
