package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.lab.experiment.Experiment;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run.Curves;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a newcomer sees first. */
@Tag("alone")
class DemoTest {
    @TempDir
    Path directory;

    @Test
    void theQuickDemoTrainsTransfersAndShowsThatTheCurvesCoincide() {
        String out = new Ht().fine("demo --quick --out", directory);
        Experiment experiment = Experiment.read("demo-quick");
        assertThat(experiment.runs()).hasSize(8);
        experiment.runs().forEach((name, member) -> {
            Curves t = Curves.read(directory.resolve(name), told -> {});
            assertThat(t.validations().lastEntry().getValue())
                    .as(name)
                    .isLessThan(0.6 * t.validations().firstEntry().getValue());
            if (member.follows() != null) {
                Gap gap = Gap.of(directory.resolve(name), directory.resolve(member.follows()));
                assertThat(gap.training().largest()).as(name).isZero();
                assertThat(gap.validation().largest()).as(name).isZero();
                assertThat(gap.norm()).as(name).isLessThan(1e-12);
            }
        });
        // Muon and MuonH are not the same curve: the transfers have something to do
        Gap different = Gap.of(directory.resolve("m1-muon"), directory.resolve("m1-muonh"));
        assertThat(different.training().largest()).isGreaterThan(1e-3);
        assertThat(directory.resolve("report.html"))
                .content()
                .contains(experiment.title() + "\"", "m1-inverse-hypertransfer", "m2-inverse-hypertransfer-plus");
        assertThat(out)
                .containsPattern("run 2 of \\d, .*; \\d+:\\d\\d left for these \\d runs")
                .contains("report: file:")
                .containsPattern("M1: .*, compared with m1-muon; they end 0.\\d+ apart")
                .containsPattern("M2: .*, compared with m2-muon; they end 0.\\d+ apart")
                .contains(
                        "m1-hypertransfer has all losses of m1-muon, to the last bit",
                        "m1-inverse-hypertransfer has all losses of m1-muonh, to the last bit",
                        "m2-hypertransfer-plus has all losses of m2-muon, to the last bit",
                        "m2-inverse-hypertransfer-plus has all losses of m2-muonh, to the last bit");
    }
}
