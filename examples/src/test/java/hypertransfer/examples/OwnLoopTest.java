package hypertransfer.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Mode;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class OwnLoopTest {
    @Test
    void theExampleFollowsItsTarget() {
        double[] base = OwnLoop.train(Mode.BASE, 0.02, 300);
        assertThat(OwnLoop.train(Mode.HYPERTRANSFER, 0.02, 300)).containsExactly(base, within(1e-12));
        assertThat(OwnLoop.train(Mode.HYPERTRANSFER_PLUS, 0.02, 300)).containsExactly(base, within(1e-12));
        double[] ball = OwnLoop.train(Mode.HYPERBALL, 0.01, 300);
        assertThat(OwnLoop.train(Mode.INVERSE_HYPERTRANSFER, 0.01, 300)).containsExactly(ball, within(1e-12));
        assertThat(base[299]).isLessThan(base[0] - 0.1);
        assertThat(ball[299]).isNotCloseTo(base[299], within(1e-6));
    }

    /** The README shows a part of the program that is compiled here and core's the whole, so that both compile as they stand. */
    @Test
    void theReadmesShowTheProgram() throws IOException {
        String source = Files.readString(Path.of("src/main/java/hypertransfer/examples/OwnLoop.java"));
        assertThat(Files.readString(Path.of("../core/README.md"))).contains("```java\n" + source + "```\n");
        String shown = Files.readString(Path.of("../README.md")).split("```java\n")[1];
        assertThat(source).contains(shown.substring(0, shown.indexOf("```")));
    }

    @Test
    void theProgramsRun() {
        OwnLoop.main(new String[0]);
        OwnDirection.main(new String[0]);
    }

    @Test
    void aDirectionOfOnesOwnFollowsItsTarget() {
        double[] base = OwnDirection.train(Mode.BASE, 30);
        assertThat(base[29]).isLessThan(base[0] - 0.5);
        assertThat(OwnDirection.train(Mode.HYPERTRANSFER, 30)).containsExactly(base, within(1e-8));
    }
}
