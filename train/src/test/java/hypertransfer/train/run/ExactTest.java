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
    private static final List<String> EXACT =
            List.of("engine=cpu", "steps=" + STEPS, "matrices.master=float64", "matrices.grid=16");

    @TempDir
    Path dir;

    private Path train(String name, String... settings) {
        return new Tiny(dir).train(name, new Tiny(dir).configuration(EXACT, settings));
    }

    /** Whether two runs of so many steps have the same losses, to the last bit. */
    private static void assertSame(Path follower, Path followed, int steps) {
        assertThat(Tiny.curves(follower)).isEqualTo(Tiny.curves(followed));
        assertThat(Tiny.curves(follower).losses()).hasSize(steps);
    }

    @ParameterizedTest
    @CsvSource({
        "M1, muon, base, hypertransfer, at-radius",
        "M1, muon, hyperball, inverse-hypertransfer, at-radius",
        "M1, muon, base, decay-transfer, at-radius",
        "M1, adam, base, hypertransfer, at-radius",
        "M1, adam, hyperball, inverse-hypertransfer, at-radius",
        "M2, muon, base, hypertransfer, auto",
        "M1, muon, base, hypertransfer-plus, mode",
        "M1, muon, hyperball, inverse-hypertransfer-plus, mode",
        "M2, muon, base, hypertransfer-plus, mode",
        "M2, muon, hyperball, inverse-hypertransfer-plus, mode",
        "M2, adam, base, hypertransfer-plus, mode",
        "M2, adam, hyperball, inverse-hypertransfer-plus, mode",
        "M1, lion, base, hypertransfer, at-radius",
        "M2, signum, hyperball, inverse-hypertransfer-plus, mode",
        "M2, normuon, base, hypertransfer-plus, mode",
        "M1, adamuon, hyperball, inverse-hypertransfer, at-radius",
        "M1, soap, base, hypertransfer, at-radius",
        "M2, soap, hyperball, inverse-hypertransfer-plus, mode"
    })
    void everyLossIsTheTargetsToTheLastBit(
            String network, String direction, String target, String mode, String gradient) {
        String[] common = {"network=" + network, "matrices.direction=" + direction, "matrices.gradient=" + gradient};
        Path followed = train("target", with(common, "matrices.mode=" + target));
        // a decay of its own, where the target's is another key or none
        double decay = target.equals("hyperball") || mode.equals("decay-transfer") ? 0.3 : 0.1;
        Path follower = train("follower", with(common, "matrices.mode=" + mode, "matrices.decay=" + decay));
        assertSame(follower, followed, STEPS);
    }

    /** Projections that start at zero, as many networks have them. */
    @ParameterizedTest
    @CsvSource({
        "muon, base, hypertransfer-plus",
        "muon, hyperball, inverse-hypertransfer-plus",
        "soap, base, hypertransfer-plus"
    })
    void aFollowerIsItsTargetFromZero(String direction, String target, String mode) {
        String[] common = {
            "steps=30",
            "network=M2",
            "matrices.direction=" + direction,
            "matrices.groups={o|proj: {init: zero, zero_radius: 3}}",
            "matrices.decay=0.1"
        };
        Path followed = train("target", with(common, "matrices.mode=" + target));
        Path follower = train("follower", with(common, "matrices.mode=" + mode));
        assertSame(follower, followed, 30);
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
        String[] common = {
            "steps=30", "network=M2", "matrices.view=heads", "matrices.direction=" + direction, "matrices.decay=0.1"
        };
        Path followed = train("target", common);
        String[] plus = with(common, "matrices.mode=hypertransfer-plus");
        Path follower = train("follower", plus);
        assertSame(follower, followed, 30);
        Tiny tiny = new Tiny(dir);
        tiny.trainUntil("stopped", tiny.configuration(EXACT, plus), 13);
        tiny.resume("stopped");
        assertThat(Tiny.result(dir.resolve("stopped"))).isEqualTo(Tiny.result(follower));
    }

    /** Gradients are clipped as the target sees them; the log tells how often and how much. */
    @Test
    void aFollowerClipsWhereItsTargetDoes() {
        String[] common = {"steps=40", "matrices.gradient=at-radius", "clip.norm=1.4", "matrices.decay=0.1"};
        Path followed = train("target", common);
        Path follower = train("follower", with(common, "matrices.mode=hypertransfer"));
        assertSame(follower, followed, 40);
        List<Double> kept = kept(follower);
        assertThat(kept)
                .hasSize(40)
                .isEqualTo(kept(followed))
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
        String[] common = {"network=M2", "steps=3", "model.width=32", "matrices.rate=0.5", "matrices.decay=1"};
        Path followed = train("target", with(common, "matrices.mode=base"));
        Path follower = train("follower", with(common, "matrices.mode=hypertransfer-plus"));
        assertSame(follower, followed, 3);
    }

    /** The placebo is another rounding and nothing else, so what it changes is what roundings can change. */
    @Test
    void aPlaceboStraysByRoundingOnly() {
        Path plain = train("plain", "matrices.grid=0"),
                placebo = train("placebo", "matrices.grid=0", "matrices.placebo=1.1");
        double gap = TransferTest.gap(placebo, plain);
        assertThat(gap).isBetween(1e-9, 1e-4);
    }

    private static String[] with(String[] settings, String... more) {
        return Stream.of(settings, more).flatMap(Stream::of).toArray(String[]::new);
    }
}
