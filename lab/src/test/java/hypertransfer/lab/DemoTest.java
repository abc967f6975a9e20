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
        assertThat(directory.resolve("report-M1.html")).isNotEmptyFile();
        assertThat(directory.resolve("report-M2.html")).content().contains(experiment.title() + ": network M2\"");
        assertThat(out)
                .containsPattern("run 2 of \\d, .*; \\d+:\\d\\d left for these \\d runs")
                .contains("report of M1: file:", "m2-inverse-hypertransfer-plus")
                .containsPattern(
                        "M1: m1-muon and m1-muonh end 0.\\d+ apart; every transfer has all losses of its target, to the last bit");
    }
}
