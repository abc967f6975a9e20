package hypertransfer.train.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class TurningTest {
    private final Turning turning = new Turning(2);

    private void line(int step, double... effective) {
        double[] none = {Double.NaN, Double.NaN};
        turning.add(new Line.Matrices(step, none, none, none, effective, none, none, none, none));
    }

    @Test
    void everyStepLogged() {
        double sum = 0;
        for (int step = 0; step < 5; step++) {
            assertThat(turning.angleBefore()).isCloseTo(sum - (step == 0 ? 0 : 0.1 * step), within(1e-15));
            line(step, 0.1 * (step + 1), 0.1 * (step + 1));
            sum += 0.1 * (step + 1);
        }
        assertThat(turning.angle()).isCloseTo(1.5, within(1e-15));
        assertThat(turning.mean()).isCloseTo(0.3, within(1e-15));
        assertThat(turning.peak()).isEqualTo(0.5);
    }

    /** The rates between two lines lie on a line, so a straight schedule has the same sum, however often it is logged. */
    @Test
    void everyFourthStepLogged() {
        for (int step = 0; step <= 8; step += 4) {
            line(step, 0.1 * step, 0.3 * step);
        }
        assertThat(turning.angle()).isCloseTo(0.2 * 36, within(1e-14));
        assertThat(turning.angleBefore()).isCloseTo(0.2 * 28, within(1e-14));
        assertThat(turning.mean()).isCloseTo(0.2 * 4, within(1e-14));
    }

    /** A matrix peaks when another does not: the ratio is taken for each, the peak of the mean. */
    @Test
    void finalToPeakIsTheMeanOfTheMatrices() {
        assertThat(turning.peak()).isNaN();
        line(0, 0.4, 0.1);
        line(1, 0.1, 0.2);
        line(2, Double.NaN, 0.1);
        assertThat(turning.finalToPeak()).isCloseTo((0.1 / 0.4 + 0.1 / 0.2) / 2, within(1e-15));
        assertThat(turning.peak()).isEqualTo(0.25);
        assertThat(turning.angle()).as("a line without all rates adds nothing").isCloseTo(0.4, within(1e-15));
        assertThat(turning.peaks).containsExactly(0.4, 0.2);
        assertThat(turning.last).containsExactly(0.1, 0.1);
    }
}
