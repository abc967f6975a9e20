package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.junit.jupiter.params.provider.Arguments.arguments;

import hypertransfer.core.Rates;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Logs of runs that were made elsewhere. */
class EffectiveTest {
    private static final String HEADER = "step,matrix,weight_norm,direction_norm,rate,decay\n";
    private final Ht ht = new Ht();

    @TempDir
    Path directory;

    private Path log(String name, String text) throws Exception {
        return Files.writeString(directory.resolve(name), text);
    }

    private static byte[] zipped(String text) throws IOException {
        ByteArrayOutputStream zipped = new ByteArrayOutputStream();
        try (OutputStream out = new GZIPOutputStream(zipped)) {
            out.write(text.getBytes());
        }
        return zipped.toByteArray();
    }

    /** A norm that grows by its updates: linear rates, no decay, right angles. */
    private static String grown(int steps) {
        StringBuilder text = new StringBuilder(HEADER);
        double norm = 2;
        for (int t = 0; t < steps; t++) {
            double rate = 0.1 * (1 - (double) t / steps);
            text.append(String.format(Locale.ROOT, "%d,fc,%s,3,%s,0.2%n", t, norm, rate));
            norm = Math.sqrt(Math.pow((1 - rate * 0.2) * norm, 2) + 9 * rate * rate);
        }
        return text.toString();
    }

    @Test
    void effectiveRateIsTheFormula() throws Exception {
        Path csv = directory.resolve("out.csv");
        JsonNode fc = ht.json("effective", log("a.csv", HEADER + "0,fc,2,3,0.5,0.4\n1,fc,4,3,0.5,0.4\n"), "--csv", csv)
                .at("/matrices/0");
        assertThat(fc.get("peak_effective").asDouble()).isEqualTo(Rates.effective(0.5, 0.4, 3, 2)); // 0.9375
        assertThat(fc.get("end_to_peak").asDouble()).isEqualTo(0.5);
        assertThat(fc.get("implied_decay").asDouble()).isCloseTo(0.2 / 0.46875, within(1e-15));
        assertThat(Files.readAllLines(csv)).hasSize(3).contains("0,fc,2.0,0.9375,,0.21333333333333335");
    }

    /** With the inner product the angle of a step is the one between the matrix before and after it. */
    @Test
    void angleIsExactWithTheInnerProduct() throws Exception {
        double[] w = {2, 1}, u = {-1, 3};
        double inner = w[0] * u[0] + w[1] * u[1], rate = 0.3, decay = 0.2;
        String row = "0,fc," + Math.sqrt(5) + "," + Math.sqrt(10) + "," + inner + "," + rate + "," + decay + "\n";
        Path csv = directory.resolve("angles.csv");
        Path log = log("a.csv", "step,matrix,weight_norm,direction_norm,inner_product,rate,decay\n" + row);
        String out = ht.fine("effective", log, "--csv", csv);
        double x = (1 - rate * decay) * w[0] - rate * u[0], y = (1 - rate * decay) * w[1] - rate * u[1];
        double turned = Math.abs(Math.atan2(y, x) - Math.atan2(w[1], w[0]));
        assertThat(Double.parseDouble(Files.readAllLines(csv).get(1).split(",")[4]))
                .isCloseTo(turned, within(1e-14));
        assertThat(out).doesNotContain("without inner_product");
    }

    /** The recipes for PyTorch and JAX write such a file; here with stand-ins for both. */
    @Test
    void recipesWriteSuchALog() throws Exception {
        Path script = Path.of(getClass().getResource("recipes.py").toURI());
        Path torch = directory.resolve("torch.csv"), jax = directory.resolve("jax.csv");
        try {
            Child.output("python3", "-B", "" + script, "../python/examples", "" + torch, "" + jax);
        } catch (IOException e) {
            Assumptions.abort("python3 is not installed, so the recipes were not run");
        }
        for (Path log : List.of(torch, jax)) {
            JsonNode fc = ht.json("effective", log).at("/matrices/0");
            double effective = Rates.effective(0.3, 0.2, Math.sqrt(10), Math.sqrt(5));
            assertThat(fc.get("peak_effective").asDouble()).isCloseTo(effective, within(1e-15));
            assertThat(ht.err()).isEmpty();
        }
    }

    /** All the forms in which the same numbers may come. */
    static Stream<Arguments> forms() {
        String rows = "0,\"fc\",2,3,0.5,0.4\n5,fc,4,3,0.5,0.4\n", all = HEADER + rows;
        return Stream.of(
                arguments("long.csv", all),
                arguments("zipped.csv.gz", all),
                arguments("semicolons.csv", all.replace(',', ';')),
                arguments("tabs.csv", all.replace(',', '\t')),
                arguments("other.csv", all.replace("rate", "Learning_Rate").replace("decay", "weight_decay")),
                arguments("update.csv", all.replace("direction", "update").replace(",3,", ",1.5,")),
                arguments(
                        "wide.csv", "step,weight_norm/fc,direction_norm/fc,rate,decay\n0,2,3,0.5,0.4\n5,4,3,0.5,0.4\n"),
                arguments("long.jsonl", """
                        {"step":0,"matrix":"fc","weight_norm":2,"direction_norm":3,"rate":0.5,"decay":0.4}
                        {"step":5,"matrix":"fc","weight_norm":4,"direction_norm":3,"rate":0.5,"decay":0.4}
                        """),
                arguments("wide.jsonl", """
                        {"step":0,"weight_norm":{"fc":2},"direction_norm":{"fc":3},"lr":0.5,"decay":0.4}
                        {"step":5,"weight_norm":{"fc":4},"direction_norm":{"fc":3},"lr":0.5,"decay":0.4}
                        """));
    }

    @ParameterizedTest
    @MethodSource("forms")
    void formsOfALog(String form, String text) throws Exception {
        Path file = log(form, text);
        if (form.endsWith(".gz")) {
            Files.write(file, zipped(text));
        }
        JsonNode fc = ht.json("effective", file).at("/matrices/0");
        assertThat(fc.get("matrix").asString()).isEqualTo("fc");
        assertThat(fc.get("peak_effective").asDouble()).isCloseTo(0.9375, within(1e-15));
        assertThat(fc.get("steps").asInt()).isEqualTo(2);
        assertThat(ht.err()).isEmpty();
    }

    @Test
    void normAtRestIsFound() throws Exception {
        JsonNode fc = ht.json("effective", log("grown.csv", grown(2_000))).at("/matrices/0");
        double rest = fc.get("rest_norm").asDouble(); // e c^2 / (2 l) at the rates of the last tenth, 0.005 on average
        assertThat(rest).isCloseTo(Math.sqrt(0.005 * 9 / 0.4), within(0.1));
        assertThat(fc.get("steps").asInt()).isEqualTo(2_000);
    }

    /** A Hyperball's own schedule is recognised. */
    @ParameterizedTest
    @CsvSource({"linear,0.1", "linear,0", "cosine,0.2"})
    void scheduleIsRecognised(String shape, double ratio) throws Exception {
        var schedule =
                new hypertransfer.core.Schedule.Shaped(0.03, 500, 0.05, ratio, hypertransfer.core.Decline.parse(shape));
        StringBuilder text = new StringBuilder("step,weight_norm,update_norm,rate,decay\n");
        for (int t = 0; t < 500; t++) {
            text.append("%d,2,%s,%s,0\n".formatted(t, 2 * schedule.rate(t), schedule.rate(t)));
        }
        JsonNode all = ht.json("effective", log("ball.csv", text.toString())).get("all");
        assertThat(all.get("shape").asString()).isEqualTo(shape);
        assertThat(all.get("peak").asDouble()).isCloseTo(0.03, within(3e-4));
        assertThat(all.get("final_ratio").asDouble()).isCloseTo(ratio, within(0.005));
        assertThat(all.get("error").asDouble()).isLessThan(0.02);
    }

    /** A warm-up of PyTorch begins at zero: the logarithm of that one rate was taken as -708, and the peak was 0.0002. */
    @Test
    void aRateOfZeroDoesNotCountInTheSchedule() throws Exception {
        StringBuilder text = new StringBuilder("step,weight_norm,update_norm,rate,decay\n");
        for (int t = 0; t < 500; t++) {
            double rate = 0.03 * Math.min(t / 25.0, (500 - t) / 475.0);
            text.append("%d,2,%s,%s,0.1\n".formatted(t, 2 * rate, rate));
        }
        text.append("500,2,0,0,0.1\n");
        JsonNode answer = ht.json("effective", log("warm.csv", text.toString()));
        assertThat(answer.at("/all/peak").asDouble()).isCloseTo(0.03, within(1e-3));
        assertThat(answer.at("/all/error").asDouble()).isLessThan(0.1);
        assertThat(answer.at("/matrices/0/implied_decay").asDouble()).isCloseTo(0.1, within(1e-3));
        String still = "step,weight_norm,update_norm\n0,2,0\n1,2,0\n";
        assertThat(ht.fine("effective", log("still.csv", still)))
                .contains("one Hyperball schedule for all: unknown: fewer than three rates above zero");
        assertThat(ht.json("effective", log("still.csv", still)).get("all").isNull())
                .isTrue();
    }

    /** Anything fits one row: it was said to be a linear schedule with an error of 0.0 %. */
    @Test
    void oneRowIsNoSchedule() throws Exception {
        String row = "step,weight_norm,update_norm\n5,2,0.04\n";
        assertThat(ht.json("effective", log("row.csv", row)).get("all").isNull())
                .isTrue();
    }

    /** Each line has its own fault, and is named; the others are answered. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            3,fc,x,3,0.5,0.4   | line 5, column weight_norm: 'x' is not a number
            3,fc,2,3,0.5,x     | line 5, column decay: 'x' is not a number
            3,fc,0,3,0.5,0.4   | line 5, column weight_norm: fc has 0.0
            3,fc,NaN,3,0.5,0.4 | line 5, column weight_norm: fc has NaN
            3,fc,2,-3,0.5,0.4  | line 5, column direction_norm: fc has -3.0
            3,fc,2,inf,0.5,0.4 | line 5, column direction_norm: 'inf' is not a number
            3,fc,2,3,0.5,2     | line 5, column decay: fc: rate times decay is 1.0
            2,fc,2,3,0.5,0.4   | line 5, column step: step 2 of fc is there twice
            1,fc,2,3,0.5,0.4   | line 5, column step: step 1 of fc comes after step 2
            1.5,fc,2,3,0.5,0.4 | line 5, column step: '1.5' is not a step
            3,fc,2,3,0.5       | line 5: 5 cells instead of 6
            """)
    void badRowIsNamedAndTheRestAnswered(String row, String message) throws Exception {
        String good = "0,fc,2,3,0.5,0.4\n1,fc,2,3,0.5,0.4\n2,fc,2,3,0.5,0.4\n";
        JsonNode answer = ht.json("effective", log("bad.csv", HEADER + good + row + "\n4,fc,2,3,0.5,0.4\n"));
        assertThat(ht.err()).contains(message).containsPattern("ht: rows read: \\d+, lines left out: 1");
        assertThat(answer.at("/matrices/0/steps").asInt()).isEqualTo(4);
        assertThat(answer.get("left_out").asInt()).as("once").isEqualTo(1);
    }

    /** A mark alone was a bug's trace. */
    @Test
    void aByteOrderMarkIsNoContent() throws Exception {
        assertThat(ht.refused("effective", log("mark.csv", "\ufeff\n"))).contains("is empty; its first line must name");
        String row =
                "{\"step\": 0, \"matrix\": \"fc\", \"weight_norm\": 2, \"update_norm\": 3, \"rate\": 0.5, \"decay\": 0.4}\n";
        assertThat(ht.json("effective", log("mark.jsonl", "\ufeff" + row))
                        .at("/matrices/0/steps")
                        .asInt())
                .isEqualTo(1);
    }

    /** Of a log that is being written, or whose writer was killed, the last number was taken as it stood: 0.0 for 0.05. */
    @ParameterizedTest
    @ValueSource(strings = {"2,fc,2,3,0.5,0.0", "2,fc,2,3,0.5,0.", "2,fc,2,3"})
    void aLastLineThatIsCutIsLeftOut(String cut) throws Exception {
        String text = HEADER + "0,fc,2,3,0.5,0.4\n1,fc,2,3,0.5,0.4\n" + cut;
        Path zip = Files.write(directory.resolve("cut.csv.gz"), zipped(text));
        for (Path log : List.of(log("cut.csv", text), zip)) {
            JsonNode answer = ht.json("effective", log);
            assertThat(answer.at("/matrices/0/steps").asInt()).isEqualTo(2);
            assertThat(answer.get("left_out").asInt()).isEqualTo(1);
            assertThat(ht.err()).contains(cut.length() < 9 ? "line 4: 4 cells" : "line 4: the file ends within it");
        }
        assertThat(ht.json("effective", log("whole.csv", text.replace(cut, "2,fc,2,3,0.5,0.4\r\n")))
                        .at("/matrices/0/steps")
                        .asInt())
                .isEqualTo(3);
    }

    @Test
    void gapsAndOtherNamesAreNoted() throws Exception {
        String rows = "0,a,2,3,0.5,0\n1,a,2,3,0.5,0\n2,a,2,3,0.5,0\n9,a,2,3,0.5,0\n9,b,2,3,0.5,0\n";
        String out = ht.fine("effective", log("gaps.csv", HEADER + rows));
        assertThat(out)
                .contains("note: a has 1 gap between its steps, the first after step 2")
                .contains("note: the longest matrices have 4 steps; fewer have b (1)")
                .contains("note: without inner_product");
    }

    @Test
    void missingColumnsAreToldWithWhatIsThere() throws Exception {
        assertThat(ht.refused("effective", log("a.csv", "step,matrix,norm\n0,fc,2\n")))
                .contains("no column weight_norm")
                .contains("no column update_norm (or direction_norm and rate)")
                .contains("it has step, matrix, norm");
        assertThat(ht.fine("effective", log("b.csv", "step,weight_norm,update_norm\n0,2,1\n1,2,1\n")))
                .contains("without decay weight decay is taken as 0");
        assertThat(ht.refused("effective", log("c.csv", ""))).contains("is empty");
        assertThat(ht.refused("effective", log("d.csv", HEADER))).contains("has no usable row: it has no rows");
        assertThat(ht.refused("effective", log("e.csv", "step,step\n1,2\n"))).contains("a column twice");
        assertThat(ht.refused("effective", directory.resolve("none.csv"))).contains("is not a file");
        assertThat(ht.refused("effective", log("f.jsonl", "{\"step\":1\n"))).contains("line 1: no JSON");
    }

    /** Many rows in little memory: the curve of a matrix has at most 512 stretches. */
    @Test
    void longLogIsStreamed() throws Exception {
        int steps = 50_000;
        StringBuilder text = new StringBuilder(HEADER);
        for (int t = 0; t < steps; t++) {
            String numbers = ",2,3," + 0.1 * (1 - (double) t / steps) + ",0\n";
            text.append(t + ",a" + numbers).append(t + ",b" + numbers);
        }
        JsonNode a = ht.json("effective", log("long.csv", text.toString())).at("/matrices/0");
        assertThat(a.get("steps").asInt()).isEqualTo(steps);
        assertThat(a.get("hyperball").get("shape").asString()).isEqualTo("linear");
        assertThat(a.get("hyperball").get("peak").asDouble()).isCloseTo(0.15, within(0.002));
    }

    /** What was read before the log broke off had been left behind as if it were the answer. */
    @Test
    void aLogThatBreaksOffLeavesNoTable() throws Exception {
        byte[] zipped = zipped(grown(5000));
        Path log = directory.resolve("cut.csv.gz"), csv = directory.resolve("cut-out.csv");
        Files.write(log, Arrays.copyOf(zipped, zipped.length / 2));
        assertThat(ht.run("effective", log, "--csv", csv)).as(ht::err).isNotZero();
        assertThat(directory).isDirectoryNotContaining("glob:**cut-out.csv*");
    }
}
