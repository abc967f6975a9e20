package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Schedule;
import hypertransfer.train.config.Configuration;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Before the first step one window is validated, unless the network has learned something elsewhere. */
class FirstValidationTest {
    @TempDir
    private Path dir;

    @Test
    void whatKnowsNothingIsValidatedOnOneWindow() {
        Configuration c = new Tiny(dir).configuration("validation.batches=4");
        try (Feed feed = Feed.open(c);
                Trainee trainee = Trainee.open(c, Invariance.needed(c))) {
            assertThat(validation(trainee, feed, 0)).isEqualTo(trainee.loss(feed.validation(0)));
            assertThat(validation(trainee, feed, 1))
                    .isEqualTo(mean(trainee, feed))
                    .isNotEqualTo(validation(trainee, feed, 0));

            ScheduledRates rates = ScheduledRates.of(c, trainee.optimizer().matrices(), told -> {});
            Schedule adam = c.adamw().schedule(c.steps());
            for (int step = 0; step < c.steps(); step++) {
                trainee.gradient(feed, step, () -> false);
                trainee.optimizer().step(rates.at(step), rates.decaysAt(step), adam.rate(step));
            }
            assertThat(validation(trainee, feed, 0))
                    .as("weights that were trained before")
                    .isEqualTo(mean(trainee, feed))
                    .isLessThan(0.9 * Math.log(Tiny.VOCAB));
        }
    }

    @Test
    void toldToStopItHasNoResult() {
        Configuration c = new Tiny(dir).configuration("validation.batches=4");
        try (Feed feed = Feed.open(c);
                Trainee trainee = Trainee.open(c, Invariance.needed(c))) {
            assertThat(trainee.validate(feed, 0, () -> true)).isEmpty();
            assertThat(trainee.validate(feed, 5, () -> true)).isEmpty();
        }
    }

    private static double validation(Trainee trainee, Feed feed, int step) {
        return trainee.validate(feed, step, () -> false).orElseThrow().loss();
    }

    private static double mean(Trainee trainee, Feed feed) {
        double sum = 0;
        for (int i = 0; i < feed.validations(); i++) {
            sum += trainee.loss(feed.validation(i));
        }
        return sum / feed.validations();
    }
}
