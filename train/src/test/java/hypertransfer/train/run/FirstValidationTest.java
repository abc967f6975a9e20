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
                Session session = Session.open(c, Invariance.needed(c))) {
            assertThat(validation(session, feed, 0)).isEqualTo(session.loss(feed.validation(0)));
            assertThat(validation(session, feed, 1))
                    .isEqualTo(mean(session, feed))
                    .isNotEqualTo(validation(session, feed, 0));

            ScheduledRates rates = ScheduledRates.of(c, session.optimizer().matrices(), told -> {});
            Schedule adam = c.adamw().schedule(c.steps());
            for (int step = 0; step < c.steps(); step++) {
                session.gradient(feed, step, () -> false);
                session.optimizer().step(rates.at(step), rates.decaysAt(step), adam.rate(step));
            }
            assertThat(validation(session, feed, 0))
                    .as("weights that were trained before")
                    .isEqualTo(mean(session, feed))
                    .isLessThan(0.9 * Math.log(Tiny.VOCAB));
        }
    }

    @Test
    void toldToStopItHasNoResult() {
        Configuration c = new Tiny(dir).configuration("validation.batches=4");
        try (Feed feed = Feed.open(c);
                Session session = Session.open(c, Invariance.needed(c))) {
            assertThat(session.validate(feed, 0, () -> true)).isEmpty();
            assertThat(session.validate(feed, 5, () -> true)).isEmpty();
        }
    }

    private static double validation(Session session, Feed feed, int step) {
        return session.validate(feed, step, () -> false).orElseThrow().loss();
    }

    private static double mean(Session session, Feed feed) {
        double sum = 0;
        for (int i = 0; i < feed.validations(); i++) {
            sum += session.loss(feed.validation(i));
        }
        return sum / feed.validations();
    }
}
