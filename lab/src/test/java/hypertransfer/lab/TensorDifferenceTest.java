package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Refusal;
import hypertransfer.lab.compare.TensorDifference;
import hypertransfer.lab.terminal.Exit;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TensorDifferenceTest {
    private static final double[] A = {3, 4, 0, 0};
    private static final List<String> EXACT = Ht.set("steps=4 checkpoint.every=2");

    private final Ht ht = new Ht();

    @TempDir
    Path dir;

    @Test
    void anotherNormIsNoDifferenceAndAnotherDirectionIs() {
        TensorDifference scaled = TensorDifference.of("w", A, new double[] {6, 8, 0, 0});
        assertThat(scaled.bits()).isFalse();
        assertThat(scaled.largest()).isZero();
        assertThat(scaled.angle()).isZero();
        TensorDifference turned = TensorDifference.of("w", A, new double[] {0, 0, 5, 0});
        assertThat(turned.angle()).isCloseTo(Math.PI / 2, within(1e-15));
        assertThat(turned.largest()).isCloseTo(2, within(1e-15)); // 5 over a root mean square of 2.5
        assertThat(TensorDifference.of("w", A, A.clone()).bits()).isTrue();
        double[] large = new Random(1).doubles(1 << 16, -1, 1).toArray();
        double[] longer = Arrays.stream(large).map(x -> 1.2345 * x).toArray();
        assertThat(TensorDifference.of("w", large, longer).angle()).isLessThan(2e-16); // the roundings of longer alone
        assertThatThrownBy(() -> TensorDifference.of("w", A, new double[3]))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("4 numbers in one run and 3");
    }

    /** What stands in a run's files for TensorBoard, as text. */
    private static String events(Path run) throws IOException {
        StringBuilder text = new StringBuilder();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(run, "events*")) {
            for (Path file : files) {
                text.append(Files.readString(file, StandardCharsets.ISO_8859_1));
            }
        }
        return text.toString();
    }

    private Path train(String name, String... settings) {
        Path run = dir.resolve(name);
        ht.fine("train ../runs/muon.yaml --out", run, Ht.TINY, EXACT, List.of(settings));
        return run;
    }

    @Test
    void aFollowerAndItsTargetAreToldFromAnotherRun() throws IOException {
        Path run = train("muon"), follower = dir.resolve("follower");
        String told = ht.fine("transfer", run, "--mode hypertransfer --out", follower);
        assertThat(told).contains("angle to the target in radians");
        for (int step :
                List.of(2, 4)) { // exact masters: the momenta have the same bits, the matrices agree to rounding
            assertThat(told)
                    .containsPattern("step " + step + " +matrices [0-9.]+e-1[5-9] \\(.*\\) +momenta 0.0e\\+00 ");
        }
        assertThat(follower.resolve("angles.json")).content().contains("\"step\":2", "\"momenta\":0.0");
        assertThat(events(follower)).contains("angle/matrices", "angle/momenta").contains("loss/train");
        int files = follower.toFile().list().length;
        ht.fine("transfer", run, "--mode hypertransfer --out", follower);
        assertThat(follower.toFile().list()).as("nothing new to tell").hasSizeLessThanOrEqualTo(files + 1);
        Path other = train("other", "--set", "matrices.rate=0.2");
        assertThat(ht.fine("compare", follower, run, "--tensors"))
                .contains("tensors at step 4", "momentum:blocks.0.attn.q.weight")
                .contains("no loss that both have logged differs", "effective rates 0.0e+00 (relative)");
        assertThat(ht.fine("compare", follower, run, "--tensors --json"))
                .contains("\"first\":null,", "\"step\":4,\"tensors\":[{\"tensor\":\"embed.weight\",\"norm_a\":");
        assertThat(ht.run("compare", other, run, "--tensors --json")).isEqualTo(Exit.CHECK_FAILED);
        assertThat(ht.out()).contains("\"first\":1,");
        assertThat(ht.run("compare", other, run, "--at 2")).isEqualTo(Exit.CHECK_FAILED);
        assertThat(ht.out()).contains("tensors at step 2", "the first loss that differs is at step 1");
        assertThat(ht.refused("compare", run, run, "--at 3")).contains("has no checkpoint of step 3", "[4, 2]");
        assertThat(ht.refused("compare", run, run, other, "--tensors")).contains("give only");
    }

    /** As on a card, where two runs that multiply by other algorithms differ from the first step on. */
    @Test
    void aFollowerBeginsWithTheAlgorithmsOfItsTarget() throws IOException {
        Path run = train("muon"), other = train("other", "--set", "matrices.rate=0.2");
        Files.writeString(run.resolve("decisions.txt"), "card product this\n");
        Files.writeString(other.resolve("decisions.txt"), "card product that\n");
        Path follower = dir.resolve("follower");
        ht.fine("transfer", run, "--mode hypertransfer --out", follower);
        assertThat(follower.resolve("decisions.txt")).hasSameTextualContentAs(run.resolve("decisions.txt"));
        assertThat(ht.fine("compare", other, run))
                .contains("at step 1 (matrix products by other algorithms, decisions.txt);");
        Files.delete(other.resolve("decisions.txt"));
        assertThat(ht.fine("compare", other, run)).contains("at step 1;");
    }
}
