package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * With double masters, weights on a grid and one place of evaluation, a follower has every bit of its target's losses. A
 * master that is rounded otherwise shows in the next loss; -Dht.slow=true gives it three times as many steps.
 */
class ExactTest {
    private static final int STEPS = Boolean.getBoolean("ht.slow") ? 120 : 40;
    private static final List<String> EXACT = List.of("engine=cpu", "steps=" + STEPS, "matrices.grid=16");

    @TempDir
    Path dir;

    private Path train(String name, List<String> common, String... settings) {
        List<String> all = Stream.of(EXACT, common).flatMap(List::stream).toList();
        return new Tiny(dir).train(name, new Tiny(dir).configuration(all, settings));
    }

    /** Trains a target and its follower, which has the target's losses to the last bit; returns the follower. */
    private Path follower(int steps, List<String> common, String target, String... settings) {
        Path followed = train("target", common, target), follower = train("follower", common, settings);
        assertThat(Tiny.curves(follower)).isEqualTo(Tiny.curves(followed));
        assertThat(Tiny.curves(follower).losses()).hasSize(steps);
        return follower;
    }

    @ParameterizedTest
    @CsvSource({
        "M1, muon, base, hypertransfer, exact",
        "M1, muon, hyperball, inverse-hypertransfer, exact",
        "M1, muon, base, decay-transfer, exact",
        "M1, adam, base, hypertransfer, exact",
        "M1, adam, hyperball, inverse-hypertransfer, exact",
        "M2, muon, base, hypertransfer, auto",
        "M1, muon, base, hypertransfer-plus, exact",
        "M1, muon, hyperball, inverse-hypertransfer-plus, exact",
        "M2, muon, base, hypertransfer-plus, exact",
        "M2, muon, hyperball, inverse-hypertransfer-plus, exact",
        "M2, adam, base, hypertransfer-plus, exact",
        "M2, adam, hyperball, inverse-hypertransfer-plus, exact",
        "M1, lion, base, hypertransfer, exact",
        "M2, signum, hyperball, inverse-hypertransfer-plus, exact",
        "M2, normuon, base, hypertransfer-plus, exact",
        "M1, adamuon, hyperball, inverse-hypertransfer, exact",
        "M1, soap, base, hypertransfer, exact",
        "M2, soap, hyperball, inverse-hypertransfer-plus, exact"
    })
    void everyLossIsTheTargetsToTheLastBit(
            String network, String direction, String target, String mode, String gradient) {
        List<String> common =
                List.of("network=" + network, "matrices.direction=" + direction, "matrices.gradient=" + gradient);
        // a decay of its own, where the target's is another key or none
        double decay = target.equals("hyperball") || mode.equals("decay-transfer") ? 0.3 : 0.1;
        follower(STEPS, common, "matrices.mode=" + target, "matrices.mode=" + mode, "matrices.decay=" + decay);
    }

    /** Projections that start at zero, as many networks have them. */
    @ParameterizedTest
    @CsvSource({
        "muon, base, hypertransfer-plus",
        "muon, hyperball, inverse-hypertransfer-plus",
        "soap, base, hypertransfer-plus"
    })
    void aFollowerIsItsTargetFromZero(String direction, String target, String mode) {
        List<String> common = List.of(
                "steps=30",
                "network=M2",
                "matrices.direction=" + direction,
                "matrices.groups={o|proj: {init: zero, zero_radius: 3}}",
                "matrices.decay=0.1");
        Path follower = follower(30, common, "matrices.mode=" + target, "matrices.mode=" + mode);
        double[] norm = Tiny.matrices(follower).get(0).norm();
        assertThat(norm[3]).as("o").isZero();
        assertThat(norm[5]).as("proj").isZero();
        if (mode.equals("hypertransfer-plus")) {
            int moved = direction.equals("soap") ? 2 : 1; // whose first direction is zero
            assertThat(Tiny.matrices(follower).get(moved).norm()[3]).isCloseTo(3, within(1e-6));
        }
    }

    /** Each head has a norm of its own; a resumed run is the uninterrupted one. */
    @ParameterizedTest
    @ValueSource(strings = {"normuon", "soap"})
    void aFollowerIsItsTargetHeadByHead(String direction) {
        List<String> common = List.of("steps=30", "network=M2", "matrices.view=heads", "matrices.decay=0.1");
        String[] plus = {"matrices.mode=hypertransfer-plus", "matrices.direction=" + direction};
        Path follower = follower(30, common, plus[1], plus);
        Tiny tiny = new Tiny(dir);
        tiny.trainUntil("stopped", new Run(follower).configuration(), 13);
        tiny.resume("stopped");
        assertThat(Tiny.result(dir.resolve("stopped"))).isEqualTo(Tiny.result(follower));
    }

    /** Gradients are clipped as the target sees them; the log tells how often and how much. */
    @Test
    void aFollowerClipsWhereItsTargetDoes() {
        List<String> common = List.of("steps=40", "matrices.gradient=at-radius", "clip.norm=1.4");
        Path follower = follower(40, common, "matrices.mode=base", "matrices.mode=hypertransfer");
        assertThat(kept(follower))
                .hasSize(40)
                .isEqualTo(kept(dir.resolve("target")))
                .anyMatch(k -> k < 1)
                .anyMatch(k -> k == 1);
    }

    private static List<Double> kept(Path run) {
        return new Run(run)
                .metrics()
                .lines(Line.Training.class)
                .map(Line.Training::kept)
                .toList();
    }

    /** A rate of a half leaves every 512th master exactly halfway between two weights after the first step. */
    @Test
    void mastersHalfwayBetweenTwoWeightsAreRoundedAlike() {
        List<String> common =
                List.of("network=M2", "steps=3", "model.width=32", "matrices.rate=0.5", "matrices.decay=1");
        follower(3, common, "matrices.mode=base", "matrices.mode=hypertransfer-plus");
    }

    /** The placebo is another rounding and nothing else, so what it changes is what roundings can change. */
    @Test
    void aPlaceboStraysByRoundingOnly() {
        List<String> common = List.of("matrices.grid=0");
        Path plain = train("plain", common), placebo = train("placebo", common, "matrices.placebo=1.1");
        double gap = TransferTest.gap(placebo, plain);
        assertThat(gap).isBetween(1e-9, 1e-4);
    }
}
