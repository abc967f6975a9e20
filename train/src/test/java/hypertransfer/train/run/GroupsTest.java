package hypertransfer.train.run;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Lion;
import hypertransfer.train.optimizer.Signum;
import hypertransfer.train.optimizer.Soap;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.NavigableMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Hidden matrices with settings of their own, and Hyperballs of another radius. */
class GroupsTest {
    private static final int Q = 0, O = 3, FC = 4, PROJ = 5;

    private final Tiny tiny;

    GroupsTest(@TempDir Path dir) {
        tiny = new Tiny(dir);
    }

    private Configuration configuration(String... settings) {
        return tiny.configuration(List.of("steps=8", "checkpoint.every=4"), settings);
    }

    @Test
    void rateModeDecayAndDirectionByPattern() throws Exception {
        Configuration c = configuration(
                "model.layers=2",
                "matrices.groups.fc|proj.rate=0.06",
                "matrices.groups.q.mode=hyperball",
                "matrices.groups.o={direction: adam, rate: 0.001, decay: 0}",
                "matrices.groups.blocks.1.*.rate=0.005");
        Path run = tiny.train("mixed", c);
        NavigableMap<Integer, Line.Matrices> lines = Tiny.matrices(run);
        Line.Matrices first = lines.firstEntry().getValue(),
                last = lines.lastEntry().getValue();
        assertThat(first.rate()[FC]).isEqualTo(0.06);
        assertThat(first.rate()[PROJ]).isEqualTo(0.06);
        assertThat(first.rate()[1]).isEqualTo(0.02);
        assertThat(first.rate()[6 + FC]).as("a later pattern wins").isEqualTo(0.005);
        assertThat(last.norm()[Q]).as("a Hyperball").isCloseTo(first.norm()[Q], within(1e-5));
        assertThat(last.norm()[1]).isNotCloseTo(first.norm()[1], within(1e-3));
        assertThat(last.impliedDecay()[O]).as("decay 0").isZero();
        Path saved = Checkpoint.tensorsOf(new Run(run).checkpoints().getFirst());
        try (SafeTensors tensors = SafeTensors.read(saved)) {
            assertThat(tensors.names())
                    .contains("adam.m:blocks.0.attn.o.weight", "momentum:blocks.0.attn.q.weight")
                    .doesNotContain("momentum:blocks.0.attn.o.weight", "adam.m:blocks.0.attn.q.weight");
        }
        assertThat(ConfigurationFile.read(run.resolve("config.yaml"), List.of()))
                .isEqualTo(c);
        assertThat(ConfigurationFile.settings(c)).containsEntry("matrices.groups.blocks.1.*.rate", "0.005");

        assertThat(tiny.trainUntil("resumed", c, 5)).isFalse();
        tiny.resume("resumed");
        assertThat(Tiny.result(tiny.path("resumed"))).isEqualTo(Tiny.result(run));
        Files.writeString(
                tiny.path("resumed/config.yaml"),
                ConfigurationFile.write(ConfigurationFile.with(c, "matrices.groups.k.rate=0.1")));
        assertRefused(() -> tiny.resume("resumed"), "matrices.groups.k.rate was null, is 0.1");
    }

    @Test
    void aGroupThatChangesNothingChangesNoBit() {
        Path plain = tiny.train("plain", configuration("matrices.rate=0.03"));
        Path grouped = tiny.train("grouped", configuration("matrices.groups.*.rate=0.03", "matrices.rate=0.02"));
        List<Object> own = Tiny.result(plain), other = Tiny.result(grouped);
        assertThat(other.getLast()).as("the tensors").isEqualTo(own.getLast());
        assertThat(other.subList(0, own.size() - 3)).as("the lines").isEqualTo(own.subList(0, own.size() - 3));
    }

    /** A rate of zero holds the head where it was; the same rate as all else changes no bit. */
    @Test
    void embeddingHeadAndGainsHaveRatesOfTheirOwn() throws Exception {
        String gain = "adamw.gain_rate=0.05", norm = "clip.norm=1.5";
        Path plain = tiny.train("plain", configuration("adamw.rate=0.01", norm));
        Path same = tiny.train("same", configuration("adamw.rate=0.01", "adamw.embedding_rate=0.01", norm));
        Path own = tiny.train("own", configuration("adamw.rate=0.01", "adamw.head_rate=0", gain, norm));
        assertThat(Tiny.curves(same).losses()).isEqualTo(Tiny.curves(plain).losses());
        assertThat(saved(plain, "head.weight")).isNotEqualTo(saved(tiny.path("own"), "head.weight"));
        tiny.train("unmoved", configuration("matrices.rate=0", "adamw.rate=0"));
        assertThat(saved(own, "head.weight")).isEqualTo(saved(tiny.path("unmoved"), "head.weight"));
        assertThat(saved(own, "embed.weight")).isNotEqualTo(saved(tiny.path("unmoved"), "embed.weight"));
        tiny.trainUntil("stopped", new Run(own).configuration(), 5);
        tiny.resume("stopped");
        assertThat(Tiny.result(tiny.path("stopped"))).isEqualTo(Tiny.result(own));
        assertRefused(() -> configuration("adamw.head_rate=-1"), "adamw.head_rate is -1.0, with decay 0.1");
        assertRefused(() -> configuration("adamw.rate=0", gain), "adamw.rate above zero");
    }

    private static double[] saved(Path run, String name) {
        try (SafeTensors tensors =
                SafeTensors.read(Checkpoint.tensorsOf(new Run(run).checkpoints().getFirst()))) {
            return tensors.values(name);
        }
    }

    /** The theorem holds matrix by matrix, whatever the groups and radii. */
    @ParameterizedTest
    @CsvSource({
        "base, 1, hypertransfer-plus, 3",
        "hyperball, 2, inverse-hypertransfer-plus, 2",
        "base, 1, hypertransfer-plus, 1"
    })
    void aFollowerFollowsEveryGroupFromAnyRadius(String mode, double radius, String follower, double own) {
        Configuration common = configuration(
                "engine=reference",
                "network=M2",
                "matrices.gradient=mode", // at their radius the two would see other roundings
                "matrices.groups.fc={rate: 0.05, decay: 0.3}",
                "matrices.groups.o.direction=adam");
        Path target = tiny.train(
                "target", ConfigurationFile.with(common, "matrices.mode=" + mode, "matrices.radius=" + radius));
        Path twin = tiny.train(
                "twin", ConfigurationFile.with(common, "matrices.mode=" + follower, "matrices.radius=" + own));
        assertThat(TransferTest.gap(twin, target)).isLessThan(1e-11);
        double start = Tiny.matrices(twin).firstEntry().getValue().norm()[Q];
        double other = Tiny.matrices(target).firstEntry().getValue().norm()[Q];
        assertThat(start / other).isCloseTo(mode.equals("base") ? own : 1 / radius, within(1e-14));
    }

    @Test
    void aScaleInvariantNetworkDoesNotSeeTheRadius() {
        Path one = tiny.train("one", configuration("engine=reference", "matrices.mode=hyperball"));
        Path two = tiny.train("two", configuration("engine=reference", "matrices.mode=hyperball", "matrices.radius=2"));
        assertThat(TransferTest.gap(one, two)).isLessThan(1e-8);
        Line.Matrices line = Tiny.matrices(two).lastEntry().getValue();
        assertThat(line.norm()[Q])
                .isCloseTo(2 * Tiny.matrices(one).firstEntry().getValue().norm()[Q], within(1e-12));
    }

    /** What all matrices leave open is the group's direction's own, and is recorded so. */
    @Test
    void aGroupsDirectionHasItsOwnDefaults() {
        Configuration c = configuration(
                "matrices.groups.o.direction=lion",
                "matrices.groups.q.direction=soap",
                "matrices.groups.k={direction: signum, momentum: 0.8}");
        assertThat(direction(c, "o")).isEqualTo(new Lion(0.9, 0.99));
        assertThat(direction(c, "q")).isEqualTo(new Soap(0.95, 0.95, 1e-10, 0.95, 10, 10_000));
        assertThat(direction(c, "k")).isEqualTo(new Signum(0.8, false));
        assertThat(direction(c, "v")).isEqualTo(Direction.Muon.standard());
        assertThat(ConfigurationFile.settings(c)).containsEntry("matrices.groups.o.beta2", "0.99");
    }

    private static Direction direction(Configuration c, String kind) {
        return c.hidden().get("blocks.0.attn." + kind + ".weight").update();
    }

    /** A process used to write them in an order of its own, and a run with another order is not found as a target. */
    @Test
    void whatADirectionAddsToAGroupHasOneOrder() {
        Configuration c = configuration("matrices.groups.fc={direction: soap, rate: 0.01}");
        assertThat(c.matrices().groups().get("fc").keySet())
                .containsExactly("direction", "rate", "beta1", "beta2", "momentum", "shape_factor");
    }

    @Test
    void betasThatTwoDirectionsReadDifferentlyAreNotSharedSilently() {
        String[] adam = {"matrices.direction=adam", "matrices.beta2=0.9", "matrices.groups.o.direction=lion"};
        assertRefused(() -> configuration(adam))
                .hasMessage("matrices.beta2 is 0.9, for adam, and matrices.groups.o has the direction lion, which uses"
                        + " beta2 for something else: set matrices.groups.o.beta2");
        assertThat(direction(tiny.configuration(List.of(adam), "matrices.groups.o.beta2=0.9"), "o"))
                .isEqualTo(new Lion(0.9, 0.9));
        assertThat(direction(configuration("matrices.beta2=0.9", "matrices.groups.o.direction=lion"), "o"))
                .as("muon has no betas, so these are lion's")
                .isEqualTo(new Lion(0.9, 0.9));
    }
}
