package hypertransfer.lab.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Line;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.Optional;
import org.junit.jupiter.api.Test;

class StepLineTest {
    private final StringWriter out = new StringWriter();

    private StepLine line(boolean live, int columns) {
        Configuration c = ConfigurationFile.of("steps=200");
        return new StepLine(new PrintWriter(out), c, Optional.empty(), live, new Width(columns), false);
    }

    private String shown(boolean live, int columns) {
        out.getBuffer().setLength(0);
        StepLine line = line(live, columns);
        line.logged(new Line.Validation(0, 5.5));
        line.logged(step(0, 5.25, 0.5));
        line.logged(step(1, 5.125, 0.5));
        line.warned("something");
        line.logged(step(2, 5, 0.5));
        line.end();
        line.logged(new Line.Validation(3, 5.25));
        line.end();
        return out.toString().replace(System.lineSeparator(), "\n");
    }

    private static Line step(int step, double loss, double seconds) {
        return new Line.Training(step, loss, 1, 1, 1, Double.NaN, Double.NaN, seconds);
    }

    private static String step(int done, String part, String loss, String eta) {
        return "step 0000" + done + "/00200 (" + part + "%) | loss " + loss
                + " | val 5.50000 | 500 ms | tok/s 4,096 | eta " + eta;
    }

    @Test
    void inAFileItIsOneLinePerValidation() {
        assertThat(shown(false, 200))
                .isEqualTo("step 00000/00200 (0.00%) | validation 5.50000\n"
                        + "warning: something\n"
                        + "step 00003/00200 (1.50%) | validation 5.25000 | loss 5.00000 | 500 ms | tok/s 4,096"
                        + " | eta 1:39\n");
    }

    /** A terminal of 200 columns showed no more than one of 110. */
    @Test
    void aWideTerminalHasABarAndTheRateOfEachKind() {
        String line = shown(true, 200).split("\r\u001b\\[K")[3];
        assertThat(line).startsWith("░".repeat(20) + " step 00003/00200 (1.50%) | loss 5.00000");
        assertThat(shown(true, 139)).doesNotContain("░");
    }

    /** The line wrapped, and every step left a row behind. */
    @Test
    void itNeverWraps() {
        for (int columns : new int[] {20, 40, 79, 80, 81}) {
            assertThat(shown(true, columns).split("\r\u001b\\[K|\n"))
                    .filteredOn(line -> line.startsWith("s") && !line.startsWith("something"))
                    .hasSize(3)
                    .allMatch(line -> line.length() < columns);
        }
        assertThat(shown(true, 80))
                .contains("| val 5.50000 | 500 ms | tok/s 4,096")
                .doesNotContain("| e\r", "eta");
    }

    /** Said 'val NaN' until the next validation. */
    @Test
    void afterAResumeTheValidationIsNotKnownYet() {
        line(true, 200).logged(step(100, 5, 0.5));
        assertThat(out.toString()).contains("loss 5.00000 | 500 ms").doesNotContain("NaN", "val");
    }

    /** A first step of 10 s, in which the machine warms up, made it "eta 26:00" ten steps later. */
    @Test
    void theFirstStepIsNoPace() {
        StepLine line = line(false, 200);
        line.logged(step(0, 5, 10));
        line.logged(step(1, 5, 0.5));
        line.logged(new Line.Validation(2, 5));
        assertThat(out.toString()).contains("| eta 1:39");
    }

    @Test
    void onATerminalItIsOneLine() {
        String clear = "\r\u001b[K";
        assertThat(shown(true, 130))
                .isEqualTo(clear + step(1, "0.50", "5.25000", "1:40")
                        + clear + step(2, "1.00", "5.12500", "1:39") + "\n"
                        + "warning: something\n"
                        + clear + step(3, "1.50", "5.00000", "1:39") + "\n");
    }
}
