package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code ht train}, then {@code ht transfer}, without any setting about it: every loss is the target's, to the last bit. */
class ExactTest {
    @TempDir
    Path dir;

    private final Ht ht = new Ht();

    private Path train(String network, String engine, String mode, String... settings) throws Exception {
        Path file = Files.writeString(dir.resolve("tiny.yaml"), """
                steps: 30
                model: {layers: 1, width: 16, head: 8, sequence: 8, batch: 2}
                matrices: {rate: 0.05}
                adamw: {rate: 0.05}
                validation: {batches: 1}
                """);
        Path run = dir.resolve("run");
        String[] own = {"network=" + network, "engine=" + engine, "matrices.mode=" + mode};
        ht.fine("train", file, "--out", run, Ht.set(own), Ht.set(settings));
        return run;
    }

    private double gap(Path run, String mode, List<String> more) {
        ht.fine("transfer", run, "--mode", mode, "--out", dir.resolve("twin"), more);
        Gap gap = Gap.of(dir.resolve("twin"), run);
        return Math.max(gap.training().largest(), gap.validation().largest());
    }

    @ParameterizedTest
    @CsvSource({
        "M1, cpu, base, muon, hypertransfer,",
        "M1, cpu, hyperball, muon, inverse-hypertransfer,",
        "M1, cpu, base, muon, decay-transfer, --decay 0",
        "M2, cpu, base, muon, hypertransfer-plus,",
        "M2, cpu, hyperball, lion, inverse-hypertransfer-plus,",
        "M1, reference, base, muon, hypertransfer,",
        "M2, reference, hyperball, muon, inverse-hypertransfer-plus,"
    })
    void withoutAnySetting(String network, String engine, String mode, String direction, String transfer, String more)
            throws Exception {
        Path run = train(network, engine, mode, "matrices.direction=" + direction);
        assertThat(gap(run, transfer, more == null ? List.of() : List.of(more.split(" "))))
                .isZero();
        assertThat(ht.out()).doesNotContain("warning");
    }

    /** A Base carrier evaluates a normed matrix at the radius of the Hyperball that it follows, whatever its own norm. */
    @ParameterizedTest
    @CsvSource({"M1, inverse-hypertransfer", "M2, inverse-hypertransfer-plus"})
    void onAnotherRadius(String network, String transfer) throws Exception {
        Path run = train(network, "cpu", "hyperball", "matrices.radius=0.3");
        assertThat(gap(run, transfer, List.of())).isZero();
    }

    /** Any norm policy as any other: as target, and as carrier of a Hyperball. */
    @ParameterizedTest
    @CsvSource({
        "M1, whole, base, floor:2+brake:0.5+pinned, hypertransfer,",
        "M2, whole, base, floor:2, hypertransfer-plus,",
        "M2, whole, base, brake:0, hypertransfer-plus,",
        "M2, whole, base, pinned, hypertransfer-plus,",
        "M2, whole, hyperball, none, inverse-hypertransfer-plus, floor:2+brake:0.5+pinned",
        "M2, heads, base, floor:2+brake:0.5+pinned, hypertransfer-plus,",
        "M2, heads, hyperball, none, inverse-hypertransfer-plus, floor:2+brake:0.5+pinned"
    })
    void ofNormPolicies(String network, String view, String mode, String policy, String transfer, String carrier)
            throws Exception {
        Path run = train(network, "cpu", mode, "matrices.view=" + view, "matrices.policy=" + policy);
        List<String> more = carrier == null ? List.of() : List.of("--set", "matrices.policy=" + carrier);
        assertThat(gap(run, transfer, more)).isZero();
        Path other = dir.resolve("other");
        if (carrier == null) {
            String[] plain = {"network=" + network, "engine=cpu", "matrices.view=" + view};
            ht.fine("train", dir.resolve("tiny.yaml"), "--out", other, Ht.set(plain));
            assertThat(Gap.of(run, other).training().largest())
                    .as("it is another optimizer")
                    .isPositive();
        } else { // whose losses are the same without a policy
            ht.fine("transfer", run, "--mode", transfer, "--out", other);
            assertThat(norms(dir.resolve("twin"))).isNotEqualTo(norms(other));
        }
    }

    private static List<Double> norms(Path run) {
        return new Run(run)
                .matrices()
                .lines(Line.Matrices.class)
                .flatMap(line -> Arrays.stream(line.norm()).boxed())
                .toList();
    }

    @Test
    void whatCannotBeExactIsSaidAtTheStart() throws Exception {
        Path run = train("M2", "cpu", "base");
        assertThat(gap(run, "hypertransfer", List.of())).isPositive();
        assertThat(ht.out()).contains("mode hypertransfer is not exact on M2: the gradients of attn.v, attn.o,");
        ht.fine("transfer", run, "--mode hypertransfer-plus --set matrices.master=float32 --out", dir.resolve("loose"));
        assertThat(ht.out()).contains("matrices.master is float32: the losses will be close to those of the run that");
    }
}
