package hypertransfer.prediction;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.GradientRule;
import hypertransfer.core.Mode;
import hypertransfer.core.Reading;
import hypertransfer.core.Space.Base;
import hypertransfer.core.Space.Hyperball;
import hypertransfer.core.State;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/IDEA.md: its numbers are computed, and every name in code that it gives is there. */
class AlgebraPageTest {
    private static String page() throws Exception {
        return Files.readString(Path.of("..", "docs", "IDEA.md"));
    }

    @Test
    void workedExampleIsWhatTheCodeComputes() throws Exception {
        String example = page().substring(page().indexOf("## A worked example"));
        List<String> printed = Pattern.compile("^    ([a-zA-Z ]+?) += (\\d+\\.\\d{6})", Pattern.MULTILINE)
                .matcher(example)
                .results()
                .map(m -> m.group(1) + " " + m.group(2))
                .toList();
        State state = new State("w", 7, 2, 2, 3);
        Reading reading = new Reading(2, 4, 1);
        Transfer ball = new Transfer(new Base(0.5), new Hyperball(), GradientRule.RESCALED);
        Step first = ball.step(state, reading, 0.1);
        Step second = new Transfer(new Base(0.5), new Base(0.2), GradientRule.RESCALED).step(state, reading, 0.1);
        Transfer radius = new Transfer(new Base(0.5), new Base(0.2), GradientRule.AT_RADIUS);
        State moved = new State("w", 7, 2, 2.5, 3);
        assertThat(printed)
                .containsExactly(
                        line("evaluationScale", ball.evaluationScale(state)),
                        line("gradientScale", ball.gradientScale(state)),
                        line("effective", first.effective()),
                        line("keep", first.keep()),
                        line("push", first.push()),
                        line("angle", first.angle()),
                        line("next norm", first.next().norm()),
                        line("next targetNorm", first.next().targetNorm()),
                        line("nominal", second.nominal()),
                        line("keep", second.keep()),
                        line("next norm", second.next().norm()),
                        line("evaluationScale", radius.evaluationScale(moved)),
                        line("gradientScale", radius.gradientScale(moved)));
        assertThat(second.effective()).isEqualTo(first.effective());
    }

    private static String line(String name, double value) {
        return String.format(Locale.ROOT, "%s %.6f", name, value);
    }

    private static Class<?> type(String name) throws ClassNotFoundException {
        try {
            return Class.forName("hypertransfer.core." + name);
        } catch (ClassNotFoundException e) {
            return Class.forName("hypertransfer.prediction." + name);
        }
    }

    @Test
    void everyNameInCodeIsThere() throws Exception {
        List<MatchResult> names = Pattern.compile("`([A-Z][A-Za-z]+)\\.([A-Za-z_]+)`")
                .matcher(page())
                .results()
                .toList();
        assertThat(names).hasSizeGreaterThan(30);
        for (MatchResult name : names) {
            Class<?> type = type(name.group(1));
            Stream<String> members = Stream.of(
                            Arrays.stream(type.getMethods()).map(Method::getName),
                            Arrays.stream(type.getFields()).map(Field::getName),
                            Arrays.stream(type.getClasses()).map(Class::getSimpleName))
                    .flatMap(s -> s);
            assertThat(members).as(name.group()).contains(name.group(2));
        }
        for (Mode mode : Mode.values()) {
            assertThat(page()).contains("`" + mode.label() + "`");
        }
    }
}
