package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.log.Run;
import java.nio.file.Path;
import java.util.Locale;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** A locale with digits of its own. With such digits no checkpoint was found again, and the run began at step 0. */
@Isolated("the locale is the whole process's")
class LocaleTest {
    @Test
    void namesDoNotFollowTheLocale(@TempDir Path dir) {
        Tiny tiny = new Tiny(dir);
        Run run = new Run(tiny.path("run"));
        String settings = "steps=20 network=M2 matrices.mode=hypertransfer-plus matrices.direction=sgd";
        tiny.trainUntil("run", tiny.configuration(settings.split(" ")), 15);
        Locale before = Locale.getDefault();
        Locale.setDefault(Locale.forLanguageTag("fa-IR-u-nu-arabext"));
        try {
            assertThat(String.format("%d", 5))
                    .as("the locale has digits of its own")
                    .isNotEqualTo("5");
            assertThat(new Checkpoints(run).numbers(20).getFileName()).hasToString("step-00000020.json");
            assertThat(new Checkpoints(run).numbers(2_000_000_000).getFileName())
                    .hasToString("step-2000000000.json");
            assertThat(tiny.resume("run")).isEmpty();
            assertThat(run.checkpoints().getFirst().getFileName()).hasToString("step-00000020.json");
        } finally {
            Locale.setDefault(before);
        }
    }
}
