package hypertransfer.core;

import static hypertransfer.core.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Schedule.Recorded;
import hypertransfer.core.Schedule.Shaped;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.ValueSource;

class ScheduleTest {
    private static final double ULPS = 1e-15;
    private static final List<String> SHAPES = List.of("""
            constant linear cosine trapezoid trapezoid:0.3 trapezoid:1 1-sqrt 1-sqrt:0.7 1-sqrt:1
            power power:1 power:0.5 power:3""".split("\\s+"));

    /** The paper's formula, and its own run of 5723 steps: a warm-up of floor(warmup * steps), then a line. */
    @ParameterizedTest
    @CsvSource({
        "2, 24, 0.05, 0.1, 0, 2", // one warm-up step
        "2, 24, 0.05, 0.1, 1, 2",
        "2, 24, 0.05, 0.1, 2, 1.9217391304347826", // 2 - 1.8 / 23
        "2, 24, 0.05, 0.1, 12, 1.1391304347826088",
        "2, 24, 0.05, 0.1, 23, 0.2782608695652174",
        "0.01, 5723, 0.05, 0, 0, 3.4965034965034965e-5", // 0.01 / 286
        "0.01, 5723, 0.05, 0, 142, 0.005",
        "0.01, 5723, 0.05, 0, 284, 0.009965034965034966",
        "0.01, 5723, 0.05, 0, 285, 0.01",
        "0.01, 5723, 0.05, 0, 286, 0.01",
        "0.01, 5723, 0.05, 0, 287, 0.009998160750413832", // 0.01 * 5436 / 5437
        "0.01, 5723, 0.05, 0, 5722, 1.8392495861688432e-6",
        "1, 19, 0.05, 0, 0, 1", // less than a step of warm-up is none
        "1, 20, 0.05, 0, 1, 1",
        "1, 1, 0, 0, 0, 1",
        "29, 100, 0.29, 0, 0, 1", // as a double, 0.29 * 100 is just below 29
        "1, 100, 0.29, 0, 29, 1"
    })
    void linesByHand(double peak, int steps, double warmup, double end, int t, double rate) {
        Schedule schedule = Schedule.linear(peak, steps, warmup, end);
        assertThat(schedule.steps()).isEqualTo(steps);
        assertThat(schedule.rate(t)).isCloseTo(rate, within(ULPS));
    }

    @ParameterizedTest
    @FieldSource("SHAPES")
    void everyShape(String text) {
        Decline shape = Decline.parse(text);
        for (double end : new double[] {0, 0.1, 1}) {
            double last = shape instanceof Decline.Constant ? 1 : end;
            assertThat(shape.factor(0, end)).as("start").isCloseTo(1, within(ULPS));
            assertThat(shape.factor(1, end))
                    .as("end")
                    .isCloseTo(last, within(ULPS))
                    .isNotNegative();
            for (int steps : new int[] {24, 1000}) {
                Schedule schedule = new Shaped(3, steps, 0.1, end, shape);
                int w = steps / 10;
                for (int t = 1; t < w; t++) {
                    assertThat(schedule.rate(t)).isGreaterThan(schedule.rate(t - 1));
                }
                assertThat(schedule.rate(w - 1))
                        .as("the warm-up ends at the peak")
                        .isEqualTo(3);
                assertThat(schedule.rate(w)).as("and the shape starts there").isCloseTo(3, within(3 * ULPS));
                for (int t = w + 1; t < steps; t++) {
                    assertThat(schedule.rate(t))
                            .as("never rises after it, nor falls below its end")
                            .isLessThanOrEqualTo(schedule.rate(t - 1))
                            .isGreaterThanOrEqualTo(3 * last * (1 - ULPS));
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({
        "constant, 0.5, 1",
        "linear, 0.5, 0.6", // 1 - 0.8 / 2
        "cosine, 0.5, 0.6",
        "cosine, 0.25, 0.8828427124746190", // 0.2 + 0.8 (1 + 1/sqrt 2) / 2
        "trapezoid:0.5, 0.5, 1",
        "trapezoid:0.5, 0.75, 0.6",
        "1-sqrt:0.5, 0.5, 1",
        "1-sqrt:0.5, 0.625, 0.6", // a quarter of the decay, whose root is a half
        "power:2, 0.5, 0.4", // 0.2 + 0.8 / 4
        "power:0.5, 0.75, 0.6",
        "LINEAR, 0.5, 0.6"
    })
    void shapesByHand(String shape, double x, double factor) {
        assertThat(Decline.parse(shape).factor(x, 0.2)).isCloseTo(factor, within(ULPS));
    }

    @Test
    void recordedIsGivenAndStretched() {
        Recorded recorded = new Recorded(List.of(0.0, 1.0, 0.5));
        assertThat(recorded.resampled(5).rates()).containsExactly(0.0, 0.5, 1.0, 0.75, 0.5);
        assertThat(recorded.resampled(2).rates()).containsExactly(0.0, 0.5);
        assertThat(recorded.resampled(1).rates()).containsExactly(0.0);
        assertThat(recorded.resampled(3)).isSameAs(recorded);
        assertThat(recorded.steps()).isEqualTo(3);
        assertThat(recorded.rate(2)).isEqualTo(0.5);
        refused(() -> recorded.rate(3), "step 3");
        refused(() -> recorded.resampled(0), "number of steps is 0;");
    }

    @ParameterizedTest
    @ValueSource(doubles = {Double.NaN, -0.1, Double.POSITIVE_INFINITY})
    void badRecordedRates(double bad) {
        refused(() -> new Recorded(List.of(0.1, bad)), "recorded rate is " + bad);
        refused(() -> new Recorded(List.of()), "recorded rates", "one or more");
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 24, Integer.MAX_VALUE, Integer.MIN_VALUE})
    void stepsOutside(int t) {
        refused(() -> Schedule.linear(1, 24, 0.05, 0).rate(t), "step " + t, "24 steps", "0 to 23");
    }

    @Test
    void badNumbers() {
        for (double bad : new double[] {Double.NaN, -1, Double.POSITIVE_INFINITY}) {
            refused(() -> Schedule.linear(bad, 24, 0.05, 0), "peak rate is " + bad, "finite");
            refused(() -> Schedule.linear(1, 24, bad, 0), "warm-up fraction is " + bad);
            refused(() -> Schedule.linear(1, 24, 0.05, bad), "final ratio is " + bad);
        }
        refused(() -> Schedule.linear(1, 24, 1, 0), "warm-up fraction is 1.0", "less than 1");
        refused(() -> Schedule.linear(1, 0, 0.05, 0), "number of steps is 0; it must be one or more");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '"',
            value = {
                "triangle | unknown schedule shape 'triangle'",
                "\"\" | unknown schedule shape ''",
                "power:two | 'power:two' needs a number",
                "trapezoid: | 'trapezoid:' needs a number",
                "power:0 | exponent is 0.0",
                "power:-1 | exponent is -1.0",
                "trapezoid:0 | decaying fraction is 0.0",
                "trapezoid:1.5 | decaying fraction is 1.5",
                "1-sqrt:-0.2 | decaying fraction is -0.2",
                "linear:0.2 | 'linear:0.2' takes no number",
                "cosine:x | 'cosine:x' takes no number",
                "constant: | 'constant:' takes no number"
            })
    void shapesThatCannotBeRead(String text, String message) {
        refused(() -> Decline.parse(text), message);
    }
}
