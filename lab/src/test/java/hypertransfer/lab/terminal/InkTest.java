package hypertransfer.lab.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import org.junit.jupiter.api.Test;

class InkTest {
    @Test
    void onlyATerminalThatWantsThemGetsColours() {
        assertThat(Ink.wanted(Map.of("TERM", "xterm"), true)).isTrue();
        assertThat(Ink.wanted(Map.of("TERM", "xterm"), false)).isFalse();
        assertThat(Ink.wanted(Map.of("NO_COLOR", "1"), true)).isFalse();
        assertThat(Ink.wanted(Map.of("NO_COLOR", ""), true))
                .as("empty means not set")
                .isTrue();
        assertThat(Ink.wanted(Map.of("TERM", "dumb"), true)).isFalse();
        assertThat(Ink.RED.on("bad", true)).isEqualTo("\u001b[31mbad\u001b[0m");
        assertThat(Ink.RED.on("bad", false)).isEqualTo("bad");
    }
}
