package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.config.ConfigurationFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Pairs that are the same dynamics, pairs that only look so, and those between. */
class CertifyTest {
    private static final String TINY = "engine=reference steps=8 model.layers=1 model.width=16 model.head=8"
            + " model.sequence=8 model.batch=2 validation.batches=1 matrices.rate=0.05 adamw.rate=0.02 ";

    @TempDir
    Path dir;

    private final Ht ht = new Ht();

    /** A configuration with these settings; {@code rate=0.1} is {@code matrices.rate=0.1}. */
    private Path file(String name, String settings) throws Exception {
        String[] all = Stream.of((TINY + settings).strip().split(" +"))
                .map(setting -> setting.matches(
                                "(network|engine|steps|seed|(model|clip|adamw|checkpoint|data|validation|matrices)\\.).*")
                        ? setting
                        : "matrices." + setting)
                .toArray(String[]::new);
        return Files.writeString(dir.resolve(name + ".yaml"), ConfigurationFile.write(ConfigurationFile.of(all)));
    }

    private JsonNode certificate(Object a, Object b, Object... more) {
        int exit = ht.run("certify", a, b, "--json", java.util.List.of(more));
        assertThat(exit).as(() -> ht.err() + ht.out()).isBetween(0, 1);
        JsonNode certificate = JsonMapper.shared().readTree(ht.out());
        assertThat(exit == 0).isEqualTo(certificate.get("verdict").asString().equals("same"));
        return certificate;
    }

    @ParameterizedTest(name = "{0} | {1}")
    @CsvSource(
            delimiter = '|',
            value = {
                "decay=0.1 | mode=hypertransfer decay=0.1 | B is A carried by a Hyperball: hypertransfer",
                "mode=hypertransfer-plus | network=M1 | A is B carried by a Hyperball: hypertransfer-plus",
                "network=M2 | network=M2 mode=hypertransfer-plus gradient=mode | B is A carried by a Hyperball: hypertransfer-plus",
                "mode=hyperball | mode=inverse-hypertransfer decay=0.3 gradient=mode | B is A carried by Base(0.3): inverse-hypertransfer",
                "network=M2 mode=hyperball view=heads | network=M2 mode=inverse-hypertransfer-plus view=heads | B is A",
                "decay=0.1 | mode=decay-transfer target_decay=0.1 decay=0.3 | the rates of equation (wd-transferred-lr)",
                "mode=hyperball | mode=hyperball radius=3 gradient=mode | a Hyperball of radius 1.0 and of 3.0, which no gradient sees here",
                "network=M2 direction=adam clip.norm=0.3 | network=M2 direction=adam clip.norm=0.3 mode=hypertransfer-plus | B is A",
                "mode=hypertransfer | mode=decay-transfer target_decay=0.1 decay=0 | both follow Base(0.1), A carried by a Hyperball: hypertransfer, B by Base(0.0): decay-transfer",
                "schedule=trapezoid:.2 | schedule=trapezoid:0.20 grid=0 engine=cpu model.batch=1 model.accumulation=2 | the same settings",
                "adamw.rate=0.02 | adamw.rate=0.02 adamw.embedding_rate=0.02 model.precision=fp8 | the same settings",
                "mode=hyperball shape_factor=none | mode=hyperball shape_factor=rms decay=0.7 | none known, by the numbers of the check only",
                "mode=fair momentum=0 | mode=hyperball momentum=0 | without momentum the scale of a gradient does not",
                "momentum=0 nesterov=true | momentum=0 nesterov=false | none known, by the numbers of the check only",
            })
    void theSame(String a, String b, String map) throws Exception {
        JsonNode found = certificate(file("a", a), file("b", b));
        assertThat(found.get("answer").asString()).startsWith("the same (map: ").contains(map);
        assertThat(found.at("/check/what").asString()).contains(", 1 layer of width ");
        assertThat(found.at("/check/losses").asDouble()).isLessThan(1e-9);
        assertThat(found.at("/check/rates").asDouble()).isLessThan(1e-9);
    }

    @ParameterizedTest(name = "{0} | {1}")
    @CsvSource(
            delimiter = '|',
            value = {
                "decay=0.1 | decay=0.3 | the space that blocks.0.attn.q.weight and 5 others follows is Base(0.1) and Base(0.3)", // it leaks into the
                // effective rate
                "final_ratio=0.1 | mode=hyperball rate=0.2 final_ratio=0.1 | is Base(0.1) and Hyperball", // to a tenth,
                // nominally
                "mode=hyperball clip.norm=0.5 | mode=hyperball clip.norm=0.5 radius=4 | the start of", // clipped in
                // another space
                "shape_factor=none | shape_factor=rms | the direction of",
                "network=M2 | network=M2 mode=hypertransfer | with the scale of Base(0.1), and the loss depends on the scale",
                "momentum=0.95 | momentum=0.9 mode=hypertransfer | the direction of",
                "network=M2 mode=hyperball | network=M2 mode=fair | and the loss depends on the scale of this matrix",
                "seed=1 | seed=2 mode=hypertransfer | seed is 1 and 2",
                "mode=hyperball | mode=hyperball view=heads | another view",
                "schedule=linear | schedule=cosine mode=hypertransfer | the rate of blocks.0.attn.q.weight and 5 others is",
                "network=M2 mode=hyperball | network=M2 mode=hyperball radius=3 | radius 3.0",
                "mode=hypertransfer | mode=hypertransfer proxy_growth=2 | matrices.proxy_growth",
                "groups={\"fc\":{\"rate\":0.05}} | groups={\"fc\":{\"rate\":0.06}} | the rate of blocks.0.mlp.fc.weight is",
                "clip.norm=1000 | clip.norm=0 | clip.norm is 1000 and 0",
                "adamw.final_ratio=0 | adamw.final_ratio=0.5 mode=hypertransfer | AdamW's rate is",
                "network=M1 | model.width=32 | model.width is 16 and 32",
                "model.batch=2 | model.batch=4 model.accumulation=4 | because model.batch times model.accumulation is 2 and 16",
                "schedule=constant warmup=0 | schedule=constant warmup=0 steps=9 | steps is 8 and 9",
                "rate=1e-5 mode=hyperball | rate=1e-5 mode=hyperball final_ratio=1e-7 | the rate of", // which no check
                // shows
            })
    void different(String a, String b, String why) throws Exception {
        JsonNode found = certificate(file("a", a), file("b", b));
        assertThat(found.get("answer").asString())
                .containsPattern("^different from step \\d+ on, because ")
                .contains(why);
        boolean shown = !found.has("check") || found.at("/check/losses").asDouble() > 1e-7;
        assertThat(shown || why.matches("clip.norm.*|the rate of"))
                .as(found.toString())
                .isTrue(); // both grounds agree
    }

    @ParameterizedTest(name = "{0} | {1}")
    @CsvSource(
            delimiter = '|',
            value = {
                "mode=hyperball | mode=fair decay=0.1 | seen at the norm of Hyperball and of Base(0.1)",
                "decay=0.1 | mode=decay-transfer target_decay=0.1 decay=0.3 gradient=as-is | of Base(0.1) and of Base(0.3)",
                "rate=1e-7 mode=hyperball | rate=1e-7 mode=fair | of Hyperball and of Base(0.1)", // which no check
                // shows
            })
    void toFirstOrder(String a, String b, String why) throws Exception {
        JsonNode found = certificate(file("a", a), file("b", b));
        assertThat(found.get("answer").asString())
                .startsWith("the same to first order in the rate, because ")
                .contains(why, "momentum mixes gradients of different scales");
    }

    private Path train(String name, String settings) throws Exception {
        ht.fine("train", file(name, settings), "--out", dir.resolve(name));
        return dir.resolve(name);
    }

    private String schedule(Path run, String series) {
        Path file = dir.resolve(run.getFileName() + "-" + series + ".json");
        ht.fine("schedule", run, "--series", series, "--out", file);
        return " recorded=" + file;
    }

    @Test
    void recordedSchedulesOfTheOtherSide() throws Exception {
        Path ball = train("ball", "mode=hyperball engine=cpu"), fair = train("fair", "mode=fair decay=0.3");
        Path muon = train("muon", "decay=0.1"), transfer = train("transfer", "mode=decay-transfer decay=0.4");
        String replay = schedule(ball, "replay");
        assertThat(certificate(ball, file("b", replay)).get("answer").asString())
                .contains("one takes the recorded steps of the other: A in a Hyperball, B in Base(0.1)");
        assertThat(certificate(file("b", replay), ball).get("verdict").asString())
                .isEqualTo("same");
        assertThat(certificate(fair, file("b", "decay=0.3" + schedule(fair, "rate")))
                        .get("verdict")
                        .asString())
                .isEqualTo("same");
        assertThat(certificate(muon, file("b", "mode=hyperball" + schedule(muon, "effective")))
                        .get("answer")
                        .asString())
                .startsWith("the same to first order in the rate, because")
                .contains("of Base(0.1) and of Hyperball");
        String rates = schedule(transfer, "rate");
        assertThat(certificate(transfer, file("b", "decay=0.4" + rates))
                        .get("answer")
                        .asString())
                .startsWith("the same to first order")
                .contains("of Base(0.1) and of Base(0.4)");
        // the same rates with another decay, and with a matrix that starts elsewhere, are other steps
        assertThat(certificate(transfer, file("b", "decay=0.3" + rates))
                        .get("verdict")
                        .asString())
                .isEqualTo("different");
        JsonNode table = certificate(file("a", "mode=hyperball"), file("b", replay));
        assertThat(table.get("verdict").asString()).isEqualTo("different");
        assertThat(table.get("notes").toString()).contains("the recorded schedule of B is taken as a table of numbers");
    }

    @Test
    void runsThatContinueOneAnother() throws Exception {
        Path muon = train("muon", "checkpoint.every=4 checkpoint.keep=3");
        ht.fine("transfer", muon, "--mode hypertransfer --at 4 --out", dir.resolve("later"));
        JsonNode found = certificate(muon, dir.resolve("later"));
        assertThat(found.get("answer").asString()).startsWith("the same (map: B is A carried by a Hyperball");
        assertThat(found.get("notes").toString()).contains("B continues A from step 4 on");
        assertThat(certificate(file("a", "decay=0.1"), dir.resolve("later"))
                        .get("answer")
                        .asString())
                .contains("they start from different weights");
    }

    @Test
    void aLogMadeElsewhere() throws Exception {
        Path muon = train("muon", "decay=0.1"), twin = train("twin", "mode=decay-transfer decay=0.4");
        StringBuilder text = new StringBuilder("step,matrix,weight_norm,direction_norm,rate,decay\n");
        for (String line : Files.readAllLines(twin.resolve("matrices.jsonl"))) {
            JsonNode m = JsonMapper.shared().readTree(line);
            double norm = m.at("/norm/0").asDouble(), rate = m.at("/rate/0").asDouble();
            double direction = m.at("/effective/0").asDouble() * (1 - rate * 0.4) * norm / rate;
            text.append("%s,blocks.0.attn.q.weight,%.7g,%.7g,%.7g,0.4%n"
                    .formatted(m.get("step"), norm, rate == 0 ? 1 : direction, rate));
        }
        Path log = Files.writeString(dir.resolve("norms.csv"), text);
        JsonNode found = certificate(muon, log);
        assertThat(found.get("answer").asString())
                .isEqualTo(
                        "the same (map: the same effective rates in another space, whose norms or nominal rates differ)");
        assertThat(found.get("notes").toString())
                .contains("only what the log has was compared", "5 of the run's 6 matrices are not in the log");
        assertThat(found.at("/check/steps").asInt()).isEqualTo(8);
        assertThat(certificate(log, twin).get("map").asString()).isEqualTo("the same norms and rates");
        Files.writeString(log, text.toString().replaceAll("(?m)^(5,.*),0.4$", "$1,0.9"));
        assertThat(certificate(muon, log).get("answer").asString())
                .isEqualTo("different from step 5 on, because the effective rates of blocks.0.attn.q.weight differ");
        assertThat(ht.refused("certify", file("a", ""), log)).contains("is a configuration, which has no norms");
        assertThat(ht.refused("certify", log, log)).contains("are both logs; one side must be a run");
        Files.writeString(log, text.toString().replace("blocks.0.attn.q", "layer"));
        assertThat(ht.refused("certify", muon, log))
                .contains(
                        "have no step of a matrix in common", "the file has layer.weight, the run has blocks.0.attn.q")
                .endsWith("; use the run's names and step numbers");
    }

    @Test
    void writesACertificate() throws Exception {
        Path a = file("a", "decay=0.1"), b = file("b", "mode=hypertransfer"), out = dir.resolve("made");
        ht.fine("certify", a, b, "--out", out);
        assertThat(ht.out())
                .contains("the same (map: B is A carried", "matrices.mode: base | hypertransfer")
                .containsPattern(
                        "largest relative difference of losses \\S+, of effective rates \\S+; the same below 1");
        JsonNode json = JsonMapper.shared().readTree(Files.readString(dir.resolve("made.json")));
        assertThat(json.get("verdict").asString()).isEqualTo("same");
        assertThat(json.at("/settings/matrices.mode").toString()).isEqualTo("[\"base\",\"hypertransfer\"]");
        assertThat(json.at("/settings/seed").toString()).isEqualTo("[\"1234\"]");
        assertThat(json.get("version").asString()).startsWith("HyperTransfer ");
        assertThat(dir.resolve("made.txt"))
                .content()
                .contains("A: " + a, "B: " + b, json.get("answer").asString(), "matrices.mode: base | hypertransfer");
        ht.fine("certify", a, b, "--out", out); // the same again, as after a command that was ended
        Files.delete(dir.resolve("made.json"));
        Files.writeString(dir.resolve("made.txt"), "mine");
        assertThat(ht.refused("certify", a, b, "--out", out)).contains("made.txt is already there; choose another");
        assertThat(dir.resolve("made.json")).doesNotExist();
    }

    @Test
    void refusals() throws Exception {
        Path a = file("a", "decay=0.1");
        assertThat(ht.refused("certify", a, dir.resolve("none.yaml")))
                .contains("there is no file " + dir.resolve("none.yaml"));
        assertThat(ht.refused("certify", a, dir)).contains("is not a run");
        assertThat(ht.refused("certify", a, a, "--steps 0")).contains("--steps is 0; it must be from 1 to 10000");
        assertThat(ht.refused("certify", a, a, "--bound 0")).contains("--bound is 0");
    }

    /** A view that no small head has, patterns of one block, data that is gone: the check finds a network that has all. */
    @Test
    void aLargeNetworkIsMadeSmall() throws Exception {
        String large = "model.layers=12 model.width=768 model.head=64 model.sequence=1024 model.batch=64"
                + " model.accumulation=8 model.vocab=50304 steps=5723 data.train=gone data.validation=gone bf16=true"
                + " groups={\"blocks.7.*\":{\"rate\":0.01}} ";
        Path a = file("a", large + "view=blocks:1x4"), b = file("b", large + "view=blocks:1x4 mode=hypertransfer-plus");
        JsonNode found = certificate(a, b, "--steps", "2");
        assertThat(found.get("answer").asString()).startsWith("the same (map: B is A carried by a Hyperball");
        assertThat(found.at("/check/what").asString()).startsWith("M1, 12 layers of width 16");
    }
}
