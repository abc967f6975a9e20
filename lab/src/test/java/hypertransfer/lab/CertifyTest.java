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
                .map(setting -> setting.matches("(network|engine|steps|seed|(model|clip|adamw)\\.).*") ? setting : "matrices." + setting)
                .toArray(String[]::new);
        return Files.writeString(
                dir.resolve(name + ".yaml"), ConfigurationFile.write(ConfigurationFile.of(all)));
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
                "decay=0.1 | mode=hypertransfer decay=0.1 | B is A carried by Hyperball (gradient at-radius)",
                "mode=hypertransfer-plus | network=M1 | A is B carried by Hyperball",
                "network=M2 | network=M2 mode=hypertransfer-plus gradient=mode | Hyperball (gradient representative)",
                "mode=hyperball | mode=inverse-hypertransfer decay=0.3 gradient=mode | carried by Base(0.3) (gradient rescaled)",
                "network=M2 mode=hyperball view=heads | network=M2 mode=inverse-hypertransfer-plus view=heads | B is A",
                "decay=0.1 | mode=decay-transfer target_decay=0.1 decay=0.3 | the rates of equation (wd-transferred-lr)",
                "mode=hyperball | mode=hyperball radius=3 | a Hyperball of radius 1.0 and of 3.0, which no gradient sees here",
                "network=M2 direction=adam clip.norm=0.3 | network=M2 direction=adam clip.norm=0.3 mode=hypertransfer-plus | B is A",
                "mode=hypertransfer | mode=decay-transfer target_decay=0.1 decay=0 | both follow Base(0.1), A in Hyperball",
                "schedule=trapezoid:.2 | schedule=trapezoid:0.20 grid=0 engine=cpu model.batch=1 model.accumulation=2 | the same settings",
                "mode=hyperball shape_factor=none | mode=hyperball shape_factor=rms decay=0.7 | cancels on a Hyperball",
                "mode=fair momentum=0 | mode=hyperball momentum=0 | without momentum the scale of a gradient does not",
                "momentum=0 nesterov=true | momentum=0 nesterov=false | by the numbers of the check only",
            })
    void theSame(String a, String b, String map) throws Exception {
        JsonNode found = certificate(file("a", a), file("b", b));
        assertThat(found.get("answer").asString()).startsWith("the same (map: ").contains(map);
        assertThat(found.at("/check/losses").asDouble()).isLessThan(1e-9);
        assertThat(found.at("/check/rates").asDouble()).isLessThan(1e-9);
    }

    @ParameterizedTest(name = "{0} | {1}")
    @CsvSource(
            delimiter = '|',
            value = {
                "decay=0.1 | decay=0.3 | follows another space: is Base(0.1) and Base(0.3)", // it leaks into the effective rate
                "final_ratio=0.1 | mode=hyperball rate=0.2 final_ratio=0.1 | is Base(0.1) and Hyperball", // to a tenth, nominally
                "mode=hyperball clip.norm=0.5 | mode=hyperball clip.norm=0.5 radius=4 | the start of", // clipped in another space
                "shape_factor=none | shape_factor=rms | the direction of",
                "network=M2 | network=M2 mode=hypertransfer | with the scale of Base(0.1), and the loss depends on the scale",
                "momentum=0.95 | momentum=0.9 mode=hypertransfer | the direction of",
                "network=M2 mode=hyperball | network=M2 mode=fair | and the loss depends on the scale of this matrix",
                "seed=1 | seed=2 mode=hypertransfer | seed is 1 and 2",
                "mode=hyperball | mode=hyperball view=heads | another view",
                "schedule=linear | schedule=cosine mode=hypertransfer | the rate of blocks.0.attn.q.weight and 5 others is",
                "network=M2 mode=hyperball | network=M2 mode=hyperball radius=3 | radius 3.0",
                "mode=hypertransfer | mode=hypertransfer proxy_growth=2 | matrices.proxy_growth",
                "groups.fc={rate:0.05} | groups.fc={rate:0.06} | the rate of blocks.0.mlp.fc.weight is",
                "clip.norm=1000 | clip.norm=0 | clip.norm is 1000.0 and 0.0",
                "adamw.final_ratio=0 | adamw.final_ratio=0.5 mode=hypertransfer | AdamW's rate is",
                "network=M1 | model.width=32 | model.width is 16 and 32",
                "network=M1 | steps=9 | steps is 8 and 9",
            })
    void different(String a, String b, String why) throws Exception {
        JsonNode found = certificate(file("a", a), file("b", b));
        assertThat(found.get("answer").asString())
                .containsPattern("^different from step \\d+ on, because ")
                .contains(why);
    }

    @ParameterizedTest(name = "{0} | {1}")
    @CsvSource(
            delimiter = '|',
            value = {
                "mode=hyperball | mode=fair decay=0.1 | seen at the norm of Hyperball and of Base(0.1)",
                "decay=0.1 | mode=decay-transfer target_decay=0.1 decay=0.3 gradient=as-is | of Base(0.1) and of Base(0.3)",
            })
    void toFirstOrder(String a, String b, String why) throws Exception {
        JsonNode found = certificate(file("a", a), file("b", b));
        assertThat(found.get("answer").asString())
                .startsWith("the same to first order in the rate, because ")
                .contains(why, "momentum mixes gradients of different scales");
    }
}
