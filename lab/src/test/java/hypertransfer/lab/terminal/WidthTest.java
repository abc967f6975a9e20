package hypertransfer.lab.terminal;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class WidthTest {
    @Test
    void theTerminalKnowsBest() {
        assertThat(Width.of(Map.of("COLUMNS", "100"), "40 120\n").columns()).isEqualTo(120);
        assertThat(Width.of(Map.of("COLUMNS", "100"), "").columns()).isEqualTo(100);
        assertThat(Width.of(Map.of("COLUMNS", "many"), "0 0\n").columns()).isEqualTo(80);
        assertThat(Width.of(Map.of(), "").columns()).isEqualTo(80);
    }

    @Test
    void fieldsAreLeftOutFromTheRight() {
        List<String> fields = List.of("step 1", "loss 2", "eta 3");
        assertThat(new Width(25).join(fields)).isEqualTo("step 1 | loss 2 | eta 3");
        assertThat(new Width(23).join(fields)).isEqualTo("step 1 | loss 2");
        assertThat(new Width(5).join(fields)).isEqualTo("ste…");
    }

    @Test
    void longLinesAreCut() {
        assertThat(new Width(6).cut("12345\n123456\n")).isEqualTo("12345\n1234…\n");
        assertThat(new Width(20).fold("memory     23 GiB, of which 9 free\nx", 11))
                .isEqualTo("memory     23 GiB,\n           of which\n           9 free\nx");
        assertThat(new Width(8).fold("jdk a/very/long/path", 4)).isEqualTo("jdk a/very/long/path");
    }

    @Test
    void shortenedNamesCanStillBeToldApart() {
        assertThat(Width.apart(List.of("out/exp1/muon", "muon"), 13)).containsExactly("out/exp1/muon", "muon");
        assertThat(Width.apart(List.of("out/exp1/muon", "muon"), 8)).containsExactly("…p1/muon", "muon");
        assertThat(Width.apart(List.of("out/exp1/muon", "out/exp1/muonh"), 8)).containsExactly("muon", "muonh");
        assertThat(Width.apart(List.of("out/exp1/muon"), 8)).containsExactly("muon");
        List<String> sweeps = List.of("out/muon/rate=0.01_decay=0.1", "out/muonh/rate=0.01_decay=0.1");
        assertThat(Width.apart(sweeps, 17)).containsExactly("muon/rat…ecay=0.1", "muonh/ra…ecay=0.1");
        assertThat(Width.apart(sweeps, 6)).containsExactly("muon/rate=0.01_decay=0.1", "muonh/rate=0.01_decay=0.1");
    }

    @Test
    void whatIsPrintedIsFoldedExceptCommands() {
        StringWriter shown = new StringWriter();
        PrintWriter out = new PrintWriter(new Width.Folding(new PrintWriter(shown), new Width(12)));
        out.printf("one two three four%n");
        out.println("next: ht report out/muon out/muonh");
        out.flush();
        assertThat(shown.toString().lines())
                .containsExactly("one two", "    three", "    four", "next: ht report out/muon out/muonh");
    }

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
