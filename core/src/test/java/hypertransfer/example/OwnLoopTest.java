package hypertransfer.example;

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
        double[] base = OwnLoop.train(Mode.BASE, 0.5, 300);
        assertThat(OwnLoop.train(Mode.HYPERTRANSFER, 0.5, 300)).containsExactly(base, within(1e-12));
        assertThat(OwnLoop.train(Mode.HYPERTRANSFER_PLUS, 0.5, 300)).containsExactly(base, within(1e-12));
        double[] ball = OwnLoop.train(Mode.HYPERBALL, 0.05, 300);
        assertThat(OwnLoop.train(Mode.INVERSE_HYPERTRANSFER, 0.05, 300)).containsExactly(ball, within(1e-12));
        assertThat(base[299]).isLessThan(base[0] - 0.1);
        assertThat(ball[299]).isNotCloseTo(base[299], within(1e-6));
    }

    @Test
    void theReadmeShowsTheCompiledLines() throws IOException {
        String source = Files.readString(Path.of("src/test/java/hypertransfer/example/OwnLoop.java"));
        String readme = Files.readString(Path.of("../README.md"));
        String shown = readme.substring(
                readme.indexOf("Transfer transfer = mode"),
                readme.indexOf("}\n```", readme.indexOf("Transfer transfer = mode")));
        assertThat(source.replaceAll("\\s+", " ")).contains(shown.replaceAll("\\s+", " "));
    }
}
