package hypertransfer.lab.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Numbers and tables as people read them. */
class TableTest {
    /** Zero was "-0 %" and "-0.0000". */
    @ParameterizedTest
    @CsvSource({
        "%.0f, -0.3, 0",
        "%.0f, -0.6, -1",
        "%+.4f, -1e-9, +0.0000",
        "%+.4f, 1e-9, +0.0000",
        "%+.4f, -0.0, +0.0000",
        "%+.4f, -0.0002, -0.0002",
        "%+.1e, -1e-9, -1.0e-09",
        "%+.1e, -0.0, +0.0e+00",
        "%.2f, NaN, NaN",
        "%.2f, -Infinity, -Infinity"
    })
    void aNumberThatIsRoundedToZeroHasNoMinus(String format, double value, String shown) {
        assertThat(Table.number(format, value)).isEqualTo(shown);
    }

    @Test
    void aTableShowsThemSo() {
        StringWriter text = new StringWriter();
        new Table<Double>()
                .column("minus", "%+.4f", value -> value)
                .column("share", "%6.0f", value -> value)
                .print(new PrintWriter(text, true), List.of(-1e-9, Double.NaN, -2.0));
        assertThat(text.toString()
                        .lines()
                        .map(line -> line.replaceAll(" +", " ").strip()))
                .containsExactly("minus share", "+0.0000 0", "- -", "-2.0000 -2");
    }
}
