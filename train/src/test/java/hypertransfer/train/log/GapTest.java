package hypertransfer.train.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GapTest {
    @TempDir
    Path folder;

    private Run own;
    private Run target;

    @BeforeEach
    void runs() throws IOException {
        own = run("own");
        target = run("target");
    }

    private Run run(String name) throws IOException {
        Run run = new Run(Files.createDirectories(folder.resolve(name)));
        new Provenance(Map.of(), List.of("m"), List.of("AS_IS")).write(run.file(Run.PROVENANCE));
        return run;
    }

    private static void log(Run run, double loss, double norm, int from, int to, int every) {
        try (Log metrics = new Log(run.file(Run.METRICS));
                Log matrices = new Log(run.file(Run.MATRICES))) {
            for (int step = from; step < to; step++) {
                metrics.append(new Line.Training(step, loss, 1, 1, 1, Double.NaN, Double.NaN, 1));
                if (step % every == 0) {
                    double[] one = {1}, n = {norm};
                    matrices.append(new Line.Matrices(step, one, n, one, n, one, one, one, one));
                }
            }
        }
    }

    /** It was "0.00e+00" without a common step, and where runs of other lengths had only step 0 in common. */
    @Test
    void noneOrOneCommonStepIsNotAGapOfZero() throws IOException {
        log(own, 2, 1, 0, 4, 1);
        Gap none = Gap.of(own.directory(), target.directory());
        assertThat(none.training()).isEqualTo(new Gap.Loss(0, Double.NaN, Double.NaN));
        assertThat(none.norm()).isNaN();
        assertThat(none.rate()).isNaN();
        assertThat(none.table(4)).contains("nothing to compare");
        log(target, 2, 1, 0, 1, 1);
        Gap gap = Gap.of(own.directory(), target.directory());
        assertThat(gap.training()).isEqualTo(new Gap.Loss(1, Double.NaN, Double.NaN));
        assertThat(gap.table(4))
                .contains("only one of 4 steps has a target, which is too few to compare")
                .doesNotContain("e+00");
    }

    @Test
    void onlyCommonStepsCount() throws IOException {
        log(own, 2, 1.5, 2, 10, 3);
        log(target, 2.5, 1.2, 0, 5, 1);
        Gap gap = Gap.of(own.directory(), target.directory());
        assertThat(gap.training()).isEqualTo(new Gap.Loss(3, -0.5, 0.5));
        assertThat(gap.validation().steps()).isZero();
        assertThat(gap.logged()).isEqualTo(1); // step 3
        assertThat(gap.norm()).isEqualTo(0.25, org.assertj.core.api.Assertions.within(1e-15));
        assertThat(gap.table(8))
                .contains("3 of 8 steps have a target", "no validation in common", "over 1 logged steps");
    }

    @Test
    void aPairIsReadOnAsBothGrow() throws IOException {
        Gap.Pair pair = new Gap.Pair(own, target);
        log(own, 2, 1, 0, 4, 1);
        assertThat(pair.read().training().steps()).isZero();
        log(target, 2, 1, 0, 3, 1);
        assertThat(pair.read().training().steps()).isEqualTo(3);
        assertThat(pair.read().norm()).isZero();
        log(target, 3, 2, 3, 6, 1);
        log(own, 3, 2, 4, 5, 1);
        assertThat(pair.read().training()).isEqualTo(new Gap.Loss(5, 0, 1));
        assertThat(pair.read().logged()).isEqualTo(5);
        Files.delete(own.file(Run.METRICS));
        log(own, 3, 2, 0, 1, 1);
        assertThat(pair.read().training()).as("cut by a resumed run").isEqualTo(new Gap.Loss(1, 1, 1));
    }

    private static void validate(Run run, double loss, int... steps) {
        try (Log metrics = new Log(run.file(Run.METRICS))) {
            for (int step : steps) {
                metrics.append(new Line.Validation(step, loss + step));
            }
        }
    }

    @Test
    void theLastCommonValidationIsCompared() throws IOException {
        validate(own, 2, 0, 4, 6, 8, 10);
        assertThat(Gap.validation(own, target).last()).isNaN();
        validate(target, 1.5, 0);
        assertThat(Gap.validation(own, target).last()).isEqualTo(0.5);
        validate(target, 1, 3, 6);
        assertThat(Gap.validation(own, target).last()).isEqualTo(1);
        validate(target, 1, 9, 11, 13);
        assertThat(Gap.validation(own, target).last()).isEqualTo(1);
        Run same = run("same");
        validate(same, 2, 0);
        assertThat(Gap.validation(same, own).last()).as("one common, the first").isNaN();
        validate(same, 2, 8, 9);
        assertThat(Gap.validation(same, own).last()).isEqualTo(0);
    }
}
