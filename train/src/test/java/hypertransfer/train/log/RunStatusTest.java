package hypertransfer.train.log;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RunStatusTest {
    @TempDir
    private Path directory;

    @Test
    void whatIsWrittenIsRead() {
        Path file = directory.resolve("state.json");
        RunStatus diverged =
                new RunStatus(RunStatus.State.FAILED, 7, 9, Double.NaN, 2.5, FailureKind.DIVERGED, "the loss is NaN");
        diverged.write(file);
        assertThat(RunStatus.read(file)).isEqualTo(diverged);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {"state":"finished","step":1,"steps":2,"stpes":3} | stpes
            {"state":"finished","step":1,"step":2,"steps":2}  | the key "step" is there twice
            {"state":"finished","step":null,"steps":2}        | step
            {"state":"finished","step":"1","steps":2}         | step
            {"state":"finished","step":1.5,"steps":2}         | step
            {"state":3,"step":1,"steps":2}                    | state
            {"state":"killed","step":1,"steps":2}             | expected one of
            null                                              | null
            {"state":"fini                                    | is damaged
            """)
    void whatIsOddIsRefusedWithItsKey(String text, String named) throws Exception {
        Path file = directory.resolve("state.json");
        Files.writeString(file, text);
        assertRefused(() -> RunStatus.read(file), "state.json", named);
    }
}
