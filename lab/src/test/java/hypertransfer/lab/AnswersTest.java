package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.network.Outline;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Predictions and translations on the command line. */
class AnswersTest {
    private static final String MUON = "../runs/muon.yaml";
    /** Tuned by a sweep at preset demo: runs/exp1.yaml, runs/exp2-tenth.yaml. */
    private static final List<String> TUNED_M1 = Ht.set("matrices.rate=0.06");

    private static final List<String> TUNED_M2 = Ht.set("network=M2 matrices.rate=0.03 matrices.final_ratio=0.1");
    private static final List<String> GROUPS =
            Ht.set("matrices.groups.fc.rate=0.03 matrices.groups.blocks.0.attn.q.*.mode=hyperball");

    private final Ht ht = new Ht();

    @TempDir
    Path directory;

    /** Measured on the run itself: 0.0795 (notes/LOG.md, experiment 3). */
    @Test
    void predictsTheFinalToPeakRatioOfMuon() {
        JsonNode answer = ht.json("predict", MUON, TUNED_M2);
        assertThat(answer.get("mean_end_to_peak").asDouble()).isCloseTo(0.0795, within(0.004));
        assertThat(answer.get("kinds")).hasSize(6);
        assertThat(ht.fine("predict", MUON, TUNED_M2))
                .contains(
                        "end/peak",
                        "512 x 128",
                        "the prediction's own error, measured",
                        "effective rate 5 %",
                        "(Muon, M2, width 128, 400 steps)");
    }

    /** It had the errors of a Muon of another size. */
    @Test
    void whatAHyperballSetsHasNoError() {
        assertThat(ht.fine("predict", MUON, "--set matrices.mode=hyperball --set model.layers=1"))
                .contains("mode hyperball, 1 layer, 400 steps", "nothing here is an estimate")
                .doesNotContain("the prediction's own error, measured");
        assertThat(ht.fine("predict", MUON, "--set matrices.mode=inverse-hypertransfer"))
                .contains("the prediction's own error, measured");
    }

    /** The paper, 124M on FineWeb with the shape factor: 0.047. */
    @Test
    void predictsThePapersRatio() {
        JsonNode answer = ht.json(
                "predict",
                MUON,
                Ht.set("network=M2 preset=gpt2-124m steps=5723 matrices.rate=0.0044 matrices.final_ratio=0.1"),
                Ht.set("matrices.shape_factor=rms data.train=x data.validation=x"));
        assertThat(answer.get("mean_end_to_peak").asDouble()).isCloseTo(0.047, within(0.01));
    }

    /** Measured at step 2,900 of Muon to a tenth on M2 (docs/runs/gpt2-124m-5723): no number was read off this run. */
    @Test
    void predictsTheMiddleOfALongRun() throws Exception {
        Path csv = directory.resolve("predicted.csv");
        ht.fine(
                "predict",
                MUON,
                Ht.set("network=M2 preset=gpt2-124m steps=5723 matrices.rate=0.0044 matrices.final_ratio=0.1"),
                Ht.set("matrices.shape_factor=rms data.train=x data.validation=x"),
                "--csv",
                csv);
        Map<String, Double> measured =
                Map.of("q", 0.004459, "k", 0.004438, "v", 0.003202, "o", 0.003499, "fc", 0.004109, "proj", 0.003815);
        double[] errors = Files.readAllLines(csv).stream()
                .map(line -> line.split(","))
                .filter(row -> row[0].equals("2900"))
                .mapToDouble(row -> Math.log(Double.parseDouble(row[4]) / measured.get(row[1])))
                .toArray();
        assertThat(errors).hasSize(6);
        double square = DoubleStream.of(errors).map(e -> e * e).average().orElseThrow();
        assertThat(Math.sqrt(square)).as("0.142 if all kinds forgot alike").isLessThan(0.11);
    }

    @Test
    void predictionIsWrittenAsATable() throws Exception {
        Path csv = directory.resolve("predicted.csv");
        ht.fine("predict", MUON, "--csv", csv);
        List<String> lines = Files.readAllLines(csv);
        assertThat(lines).hasSize(1 + 6 * 400);
        assertThat(lines.getFirst()).isEqualTo("step,kind,nominal,norm,effective,target_norm");
        ht.fine("predict", MUON, "--csv", csv); // the same again
        assertThat(ht.refused("predict", MUON, "--set seed=8 --set steps=9 --csv", csv))
                .contains("is already there; choose another --csv");
        assertThat(ht.refused("predict", MUON, "--csv", directory)) // it was exit code 6
                .contains("--csv is '" + directory + "', which is not a file but a directory");
        assertThat(csv).as("stays").hasContent(String.join("\n", lines));
    }

    @Test
    void finishedRunIsComparedWithItsPrediction() {
        Path run = directory.resolve("run");
        ht.fine("train", MUON, "--out", run, Ht.TINY);
        JsonNode measured = ht.json("predict", run).get("measured");
        assertThat(measured.get("steps").asInt()).isEqualTo(3);
        assertThat(measured.get("matrices").asInt()).isEqualTo(6);
        assertThat(measured.get("effective").asDouble()).isBetween(0.01, 0.5);
        assertThat(ht.refused("predict", run, "--set steps=2")).contains("is a run");
        assertThat(ht.fine("rates", run, "--to muonh")) // 'ht train' of the folder would continue the run
                .contains("next: ht train " + run.resolve("config.yaml"))
                .doesNotContain("target")
                .endsWith(" --out out/run-muonh\n");
        Path follower = directory.resolve("follower"); // at other rates it would have been held against its target
        ht.fine("transfer", run, "--mode hypertransfer --out", follower);
        assertThat(ht.fine("rates", follower, "--to muonh")).contains(" --set target=null ");
        assertThat(ht.refused("rates", directory, "--to muonh")).contains("is not a run");
    }

    @Test
    void oneStep() {
        assertThat(ht.fine("predict", MUON, "--set steps=1")).contains(", 4 layers, 1 step\n");
        assertThat(ht.fine("rates", MUON, "--set steps=1 --to muonh")).contains(", linear, 1 step\n");
    }

    /** The stated error is that of the nearest measured run, and says so where there is none. */
    @Test
    void statedErrorIsTheNearestRuns() {
        List<String> large = Ht.set("preset=gpt2-124m data.train=x data.validation=x");
        assertThat(ht.fine("predict", MUON, large, "--set steps=600"))
                .contains("effective rate 27 %", "(Muon, M1, width 768, 610 steps)")
                .doesNotContain("expect more");
        assertThat(ht.fine("rates", MUON, large, "--set steps=600 --to muonh"))
                .contains("effective rate 27 %", "(Muon, M1, width 768, 610 steps)");
        assertThat(ht.fine("rates", MUON, "--set matrices.mode=hyperball --with steps=100"))
                .doesNotContain("own error");
        assertThat(ht.fine("rates", MUON, "--to adamw")).contains("effective rate 27 %", "(AdamW, M1, width 128");
        assertThat(ht.fine("rates", MUON, "--to adamw --with model.width=2048"))
                .contains("(AdamW, M1, width 768, 610 steps); no run like this one was measured, so expect more");
        assertThat(ht.json("rates", MUON, "--to adamw").at("/nearest/optimizer").asString())
                .isEqualTo("AdamW");
        assertThat(ht.fine("predict", MUON, large, "--set steps=60"))
                .contains("effective rate 31 %", "(Muon, M1, width 768, 70 steps)");
        assertThat(ht.fine("predict", MUON, large, "--set steps=60000"))
                .contains("no run like this one was measured, so expect more");
        assertThat(ht.fine("predict", MUON, "--set preset=small --set steps=30"))
                .contains("effective rate 24 %", "(Muon, M1, width 256, 25 steps)");
        assertThat(ht.fine("predict", MUON, "--set matrices.direction=adam"))
                .contains("(AdamW, M1, width 128, 200 steps)");
    }

    @Test
    void everyModeIsPredicted() {
        for (String mode :
                List.of("hyperball", "hypertransfer", "inverse-hypertransfer-plus", "fair", "decay-transfer")) {
            ht.fine("predict", MUON, "--set matrices.mode=" + mode, "--json");
        }
        assertThat(ht.refused("predict", MUON, "--set matrices.direction=sgd")).contains("unknown before the run");
        assertThat(ht.refused("predict", MUON, "--set matrices.recorded=x")).contains("only a schedule");
    }

    /** Whatever model.* makes of a block, each of its hidden matrices is answered for. */
    @Test
    void everyMatrixOfEveryNetworkIsPredictedAndCarried() {
        for (String model : List.of(
                "network=M1",
                "network=M2",
                "model.mlp=swiglu",
                "network=M2 model.mlp=swiglu model.kv_heads=1",
                "model.mlp=gelu model.mlp_width=96 model.tied=true",
                "network=M2 model.qk_norm=false model.norm=layer model.bias=true model.positions=learned")) {
            List<String> set = Ht.set(model);
            long hidden =
                    ConfigurationFile.read(Path.of(MUON), List.of(model.split(" "))).architecture().outlines().stream()
                            .filter(Outline::hidden)
                            .count();
            JsonNode kinds = ht.json("predict", MUON, set).get("kinds");
            assertThat(kinds.valueStream().mapToInt(kind -> kind.get("count").asInt()))
                    .as(model)
                    .allMatch(count -> count == 4);
            assertThat(kinds).as(model).hasSize((int) hidden / 4);
            assertThat(ht.json("rates", MUON, set, "--to muonh").get("kinds"))
                    .as(model)
                    .hasSameSizeAs(kinds);
        }
    }

    /** Parts have norms and rates of their own, for which nothing was measured. */
    @Test
    void partsOfMatricesAreRefused() {
        for (String view : List.of("matrices.view=heads", "matrices.groups.q.view=blocks:2x1")) {
            assertThat(ht.refused("predict", MUON, "--set " + view)).contains("only whole matrices can be predicted");
            assertThat(ht.refused("rates", MUON, "--to muonh --set " + view)).contains("matrices.view is ");
        }
    }

    @Test
    void fewTokensPerStepAreNoted() {
        assertThat(ht.fine("predict", MUON, "--set model.batch=1"))
                .contains("note: 128 tokens per step are few for width 128");
        assertThat(ht.fine("predict", MUON)).doesNotContain("note:");
    }

    @Test
    void groupsArePredictedEachForItself() {
        JsonNode answer = ht.json("predict", MUON, GROUPS);
        assertThat(answer.get("kinds").valueStream().map(k -> k.get("kind").asString()))
                .containsExactly("q of 0", "q of 1,2,3", "k", "v", "o", "fc", "proj");
        assertThat(answer.at("/kinds/0/end_norm").asDouble())
                .isEqualTo(answer.at("/kinds/0/start_norm").asDouble());
        JsonNode plain = ht.json("predict", MUON);
        assertThat(answer.at("/kinds/5/peak_effective").asDouble())
                .isGreaterThan(1.5 * plain.at("/kinds/4/peak_effective").asDouble());
    }

    /** Each group has a pair of its own, and the printed command gives every matrix the rate of its group. */
    @Test
    void ratesOfGroupsAreCarriedEachForItself() {
        JsonNode answer = ht.json("rates", MUON, GROUPS, "--to muonh");
        assertThat(answer.get("rate").isNull()).isTrue();
        assertThat(answer.get("groups").valueStream().map(g -> g.get("pattern").asString()))
                .containsExactly("blocks.0.attn.q.weight", "rest", "fc");
        assertThat(answer.at("/groups/0/rate").asDouble())
                .as("was on the Hyperball already")
                .isCloseTo(0.02, within(1e-5));
        JsonNode plain = ht.json("rates", MUON, "--set matrices.rate=0.03 --to muonh");
        double fc = plain.at("/kinds/4/rate").asDouble();
        assertThat(answer.at("/groups/2/rate").asDouble()).isEqualTo(fc);

        List<String> settings = Pattern.compile(" --set '?([^' \n]+)")
                .matcher(ht.fine("rates", MUON, GROUPS, "--to muonh"))
                .results()
                .map(found -> found.group(1))
                .toList();
        Map<String, Matrices> hidden =
                ConfigurationFile.read(Path.of(MUON), settings).hidden();
        assertThat(hidden.get("blocks.3.mlp.fc.weight").rate()).isCloseTo(fc, within(1e-3 * fc));
        assertThat(hidden.get("blocks.0.attn.q.weight").rate()).isEqualTo(0.02);
        assertThat(hidden.get("blocks.1.attn.q.weight").rate())
                .isCloseTo(answer.at("/groups/1/rate").asDouble(), within(1e-5));
    }

    /** The pair belongs to the other run's shape, not to the tuned one's. */
    @Test
    void anotherShapeHasAnotherPair() {
        JsonNode answer = ht.json("rates", MUON, "--to muonh --with matrices.schedule=cosine");
        assertThat(answer.get("rate").asDouble())
                .isNotCloseTo(ht.json("rates", MUON, "--to muonh").get("rate").asDouble(), within(1e-4));
    }

    /** k = sqrt(5723 / 610): rate, decay and angle; the second value is AdamW's own rate. */
    @Test
    void ratesAreCarriedToAnotherLength() {
        List<String> tuned = Ht.set("steps=5723 matrices.rate=0.0044 matrices.final_ratio=0.1 adamw.rate=0.01");
        JsonNode answer = ht.json("rates", MUON, tuned, "--with steps=610");
        assertThat(answer.get("rate").asDouble()).isCloseTo(0.0134772, within(1e-6));
        assertThat(answer.get("final_ratio").asDouble()).isCloseTo(0.1, within(1e-6));
        assertThat(answer.at("/horizon/matrices.decay").asDouble()).isCloseTo(0.3063, within(1e-7));
        assertThat(answer.at("/horizon/adamw.rate").asDouble()).isCloseTo(0.03063, within(1e-7));
        assertThat(answer.at("/horizon/adamw.decay").asDouble()).isCloseTo(0.3063, within(1e-7));
        JsonNode quarter = ht.json("rates", MUON, tuned, "--with steps=1430");
        assertThat(quarter.get("rate").asDouble()).isCloseTo(0.00880231, within(1e-7));
        assertThat(quarter.at("/horizon/matrices.decay").asDouble()).isCloseTo(0.2000524, within(1e-7));
        JsonNode angle = ht.json("rates ../runs/muonh.yaml", tuned, "--set matrices.rate=0.0125 --with steps=610");
        assertThat(angle.get("rate").asDouble()).isCloseTo(0.0382875, within(1e-6));
        assertThat(ht.json("rates", MUON, "--to muonh").get("horizon")).isEmpty();
    }

    /** Norms know steps and not tokens; with as many tokens in all the law is the square root rule. */
    @Test
    void tokensPerStepAreCarriedByTheStepsThatAreLeft() {
        assertThat(ht.fine("rates", MUON, "--set steps=400 --with model.accumulation=4"))
                .contains("4.000 times the tokens per step", "--with steps=100, which multiplies rates by 2.000");
        String both = ht.fine("rates", MUON, "--set steps=400 --with model.accumulation=4 --with steps=100");
        assertThat(both).contains("matrices.rate=0.04").doesNotContain("tokens per step");
    }

    /** The command that is printed trains what was answered, in groups too; a key that the mode does not read is not in it. */
    @Test
    void theOtherLengthIsTheNextCommands() {
        String groups = " --set matrices.groups.fc.decay=0.2 --set matrices.groups.fc.rate=0.03";
        String said = ht.fine("rates", MUON, "--set steps=900 --set matrices.rate=0.01 --with steps=100" + groups);
        assertThat(said)
                .contains("by the horizon law: matrices.rate=0.03, matrices.decay=0.3, adamw.rate=0.03")
                .contains("--set adamw.rate=0.03 --set adamw.decay=0.3", "--set matrices.decay=0.3 ", "--set steps=100")
                .contains("--set matrices.groups.fc.decay=0.6 ", "--set matrices.groups.fc.rate=0.09")
                .contains("--set matrices.rate=0.03000", "the warm-up is shorter than the momentum's memory");
        String ball = ht.fine("rates ../runs/muonh.yaml --set steps=9000 --with steps=1000");
        assertThat(ball).contains("--set matrices.rate=0.0600").doesNotContain("matrices.decay", "the warm-up");
        assertThat(ht.refused("rates", MUON, "--set steps=9000 --set matrices.rate=0.5 --with steps=450"))
                .contains(
                        "rate 0.5 and decay 0.1 of 9000 steps cannot be carried over to 450 steps",
                        "take more steps than 450");
        String longer = ht.fine("rates", MUON, "--set steps=60 --with steps=100");
        assertThat(longer).contains("by the horizon law").doesNotContain("the warm-up");
        String two = " --set matrices.groups.fc.mode=decay-transfer --set matrices.target_decay=0.2";
        assertThat(ht.fine("rates", MUON, "--set steps=900 --with steps=100" + two))
                .contains("--set matrices.target_decay=0.6 ");
        String asked = ht.fine("rates", MUON, "--set steps=900 --with steps=100 --with matrices.decay=0.2");
        assertThat(asked).contains("to   Muon, decay 0.2").doesNotContain("matrices.decay=0.3");
    }

    /** The tuned MuonH has 0.03 and 0.02 (runs/exp1.yaml, runs/exp2-tenth.yaml); no search was made here. */
    @Test
    void muonsRatesCarriedToMuonHAreTheTunedOnes() {
        JsonNode m1 = ht.json("rates", MUON, TUNED_M1, "--to muonh");
        assertThat(m1.get("rate").asDouble()).isCloseTo(0.03, within(0.003));
        assertThat(m1.get("final_ratio").asDouble()).isLessThan(0.001);
        JsonNode m2 = ht.json("rates", MUON, TUNED_M2, "--to muonh");
        assertThat(m2.get("rate").asDouble()).isCloseTo(0.02, within(0.002));
        assertThat(m2.get("final_ratio").asDouble()).isCloseTo(0.1, within(0.02));
        assertThat(ht.fine("rates", MUON, TUNED_M2, "--to muonh"))
                .contains("next: ht train " + MUON, "--set matrices.mode=hyperball")
                .containsOnlyOnce("--set matrices.rate=") // which was there twice
                .containsOnlyOnce("--set matrices.final_ratio=")
                .endsWith(" --out out/muon-muonh\n");
    }

    @Test
    void badQuestions() {
        assertThat(ht.fine("rates", MUON, "--to adamw")).contains("not a tuned rate");
        assertThat(ht.refused("rates", MUON)).contains("say where to carry the rates");
        assertThat(ht.refused("rates", MUON, "--to lion")).contains("unknown optimizer 'lion'");
        assertThat(ht.refused("rates", MUON, "--with matrices.decya=1")).contains("unknown key");
        for (String own : List.of("matrices.rate=0.1", "matrices.final_ratio=0.1", "matrices.groups.fc.rate=1")) {
            assertThat(ht.refused("rates", MUON, "--with", own)) // which were left unread
                    .contains("--with " + own + ": the rate and the final ratio are the answer");
        }
        assertThat(ht.refused("rates", MUON, "--with preset=small")) // it was answered for the old width
                .contains("--with preset=small: the other run keeps all keys that are not named");
        assertThat(ht.refused("rates", MUON, "--to muonh --with matrices.mode=base"))
                .contains("--to muonh says what --with matrices.mode=base says; omit one of them");
        assertThat(ht.refused("predict", "nowhere.yaml")).contains("there is no file nowhere.yaml in ");
    }
}
