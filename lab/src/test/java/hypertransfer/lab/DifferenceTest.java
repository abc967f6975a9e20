package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Refusal;
import hypertransfer.lab.comparison.Difference;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DifferenceTest {
    private static final double[] A = {3, 4, 0, 0};

    @TempDir
    Path dir;

    @Test
    void anotherNormIsNoDifferenceAndAnotherDirectionIs() {
        Difference.Row scaled = Difference.row("w", A, new double[] {6, 8, 0, 0});
        assertThat(scaled.bits()).isFalse();
        assertThat(scaled.largest()).isZero();
        assertThat(scaled.angle()).isZero();
        Difference.Row turned = Difference.row("w", A, new double[] {0, 0, 5, 0});
        assertThat(turned.angle()).isCloseTo(Math.PI / 2, within(1e-15));
        assertThat(turned.largest()).isCloseTo(2, within(1e-15)); // 5 over a root mean square of 2.5
        assertThat(Difference.row("w", A, A.clone()).bits()).isTrue();
        assertThatThrownBy(() -> Difference.row("w", A, new double[3]))
                .isInstanceOf(Refusal.class)
                .hasMessageContaining("4 numbers in one run and 3");
    }

    /** What stands in a run's files for TensorBoard, as text. */
    private static String events(String run) {
        StringBuilder text = new StringBuilder();
        for (File file : new File(run).listFiles((folder, name) -> name.startsWith("events"))) {
            try {
                text.append(Files.readString(file.toPath(), StandardCharsets.ISO_8859_1));
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        return text.toString();
    }

    private String ht(int exit, String... arguments) {
        StringWriter out = new StringWriter(), err = new StringWriter();
        int code = Main.run(new PrintWriter(out), new PrintWriter(err), false, arguments);
        assertThat(code).as("%s%s", out, err).isEqualTo(exit);
        return out.toString() + err;
    }

    private void train(String name, String... settings) {
        List<String> all = new ArrayList<>(
                List.of("train", "../runs/muon.yaml", "--out", dir.resolve(name).toString()));
        for (String setting : List.of(
                "engine=reference",
                "model.layers=1",
                "model.width=16",
                "model.head=8",
                "model.sequence=16",
                "model.batch=2",
                "steps=4",
                "validation.batches=1",
                "checkpoint.every=2",
                "matrices.master=float64",
                "matrices.grid=16",
                "matrices.gradient=at-radius")) {
            all.add("--set");
            all.add(setting);
        }
        for (String setting : settings) {
            all.add("--set");
            all.add(setting);
        }
        ht(0, all.toArray(String[]::new));
    }

    @Test
    void aFollowerAndItsTargetAreToldFromAnotherRun() {
        train("muon");
        String follower = dir.resolve("follower").toString();
        String told = ht(0, "transfer", dir.resolve("muon").toString(), "--mode", "hypertransfer", "--out", follower);
        assertThat(told).contains("angle to the target in radians");
        for (int step :
                List.of(2, 4)) { // exact masters: the momenta have the same bits, the matrices agree to rounding
            assertThat(told)
                    .containsPattern("step " + step + " +matrices [0-9.]+e-1[5-9] \\(.*\\) +momenta 0.0e\\+00 ");
        }
        assertThat(dir.resolve("follower/angles.json")).content().contains("\"step\":2", "\"momenta\":0.0");
        assertThat(events(follower)).contains("angle/matrices", "angle/momenta").contains("loss/train");
        int files = new File(follower).list().length;
        ht(0, "transfer", dir.resolve("muon").toString(), "--mode", "hypertransfer", "--out", follower);
        assertThat(new File(follower).list()).as("nothing new to tell").hasSizeLessThanOrEqualTo(files + 1);
        train("other", "matrices.rate=0.2");
        String run = dir.resolve("muon").toString();
        assertThat(ht(0, "diff", follower, run))
                .contains(
                        "tensors at step 4",
                        "momentum:blocks.0.attn.q.weight",
                        "no loss that both have logged differs");
        assertThat(ht(0, "diff", follower, run, "--json"))
                .startsWith("{\"first_loss\":null,\"step\":4,\"tensors\":[{\"tensor\":\"embed.weight\",\"norm_a\":");
        assertThat(ht(1, "diff", dir.resolve("other").toString(), run, "--json"))
                .startsWith("{\"first_loss\":1,");
        assertThat(ht(1, "diff", dir.resolve("other").toString(), run, "--at", "2"))
                .contains("the first loss that differs is at step 1");
        assertThat(ht(2, "diff", run, run, "--at", "3")).contains("has no checkpoint of step 3", "[4, 2]");
        assertThat(ht(2, "diff", run, dir.toString())).contains("is not a run");
    }
}
