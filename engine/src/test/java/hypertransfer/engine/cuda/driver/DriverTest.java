package hypertransfer.engine.cuda.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class DriverTest {
    @Test
    void oldDriversAndCardsAreNamedWithTheFix() {
        assertThat(Driver.tooOld(11080)).contains("CUDA 11.8").contains("12.0").contains("525");
        assertThat(Driver.tooSmall("Tesla T4", 75)).contains("Tesla T4", "7.5", "8.0", "--engine cpu");
    }
}
