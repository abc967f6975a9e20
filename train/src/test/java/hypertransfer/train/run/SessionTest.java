package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Schedule;
import hypertransfer.engine.Engine;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.Rig;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Routing;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SessionTest {
    @TempDir
    private Path dir;

    /** Before the first step one window is validated, unless the network has learned something elsewhere. */
    @Test
    void whatKnowsNothingIsValidatedOnOneWindow() {
        Configuration c = new Tiny(dir).configuration("validation.batches=4");
        try (Feed feed = Feed.open(c);
                Session session = Session.open(c)) {
            assertThat(session.validate(feed, 0, () -> true)).as("told to stop").isEmpty();
            assertThat(session.validate(feed, 5, () -> true)).isEmpty();
            assertThat(validation(session, feed, 0)).isEqualTo(session.loss(feed.validation(0)));
            assertThat(validation(session, feed, 1))
                    .isEqualTo(mean(session, feed))
                    .isNotEqualTo(validation(session, feed, 0));

            ScheduledRates rates = ScheduledRates.of(c, session.optimizer().matrices(), told -> {});
            Schedule adam = c.adamw().schedule(c.steps());
            for (int step = 0; step < c.steps(); step++) {
                session.gradient(feed, step, () -> false);
                session.optimizer().step(rates.at(step), rates.decaysAt(step), adam.rate(step), null);
            }
            assertThat(validation(session, feed, 0))
                    .as("weights that were trained before")
                    .isEqualTo(mean(session, feed))
                    .isLessThan(0.9 * Math.log(Tiny.VOCAB));
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

    /** An engine may measure on the first micro-batch as often as it likes: of its gradient nothing stays. */
    @Test
    void aStepIsTheSameHoweverOftenTheEngineMeasures() {
        Configuration c = new Tiny(dir).configuration();
        assertThat(afterAStep(c, 3)).containsExactlyElementsOf(afterAStep(c, 0));
    }

    private static List<double[]> afterAStep(Configuration c, int times) {
        Engine real = Engines.open("reference", c.architecture().dims(c.model().batch()));
        int[] done = {0};
        Engine measuring = (Engine) Proxy.newProxyInstance(
                Engine.class.getClassLoader(), new Class<?>[] {Engine.class}, (proxy, method, args) -> {
                    if (!method.getName().equals("decide")) {
                        return method.invoke(real, args);
                    }
                    for (; done[0] < times; done[0]++) {
                        ((Runnable) args[0]).run();
                    }
                    return null;
                });
        Routing routing = Routing.standard(Direction.Muon.standard(), Rig.MUON);
        try (Feed feed = Feed.open(c);
                Session session = Session.of(measuring, c.architecture(), routing)) {
            session.initialize(1234);
            session.decide(feed.training(0, 0));
            assertThat(done[0]).isEqualTo(times);
            for (Parameter p : session.parameters().own()) {
                assertThat(real.read(p.gradient())).containsOnly(0);
            }
            session.gradient(feed, 0, () -> false);
            double[] rates = new double[session.optimizer().matrices().size()];
            Arrays.fill(rates, 0.02);
            session.optimizer().step(rates, null, 0.01, null);
            return session.parameters().own().stream()
                    .map(p -> real.read(p.master()))
                    .toList();
        }
    }
}
