package hypertransfer.train.run;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Clip;
import hypertransfer.core.Mode;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.optimizer.Rule;
import hypertransfer.train.optimizer.View;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a run tells about the scale of its matrices while it trains. */
class ScalesTest {
    @TempDir
    Path dir;

    @Test
    void theRadialPartOfTheGradientIsZeroWhereTheScaleDoesNotMatter() {
        Tiny tiny = new Tiny(dir);
        for (String network : List.of("M1", "M2")) {
            Path run = tiny.train(network, "engine=reference", "network=" + network, "steps=12");
            List<String> names = new Run(run).provenance().matrices();
            Map<Integer, Line.Matrices> lines = Tiny.matrices(run);
            lines.values().removeIf(line -> Double.isNaN(line.radial()[0]));
            assertThat(lines).containsOnlyKeys(0, 10, 11);
            lines.forEach((step, line) -> {
                for (int k = 0; k < names.size(); k++) {
                    double radial = Math.abs(line.radial()[k]);
                    boolean invariant = network.equals("M1") || names.get(k).matches(".*attn\\.[qk]\\.weight");
                    // What is left of an invariant one is the norm's epsilon, 1e-10 beside a mean square.
                    assertThat(radial < 1e-6)
                            .as("%s %s, %s at step %s", network, names.get(k), radial, step)
                            .isEqualTo(invariant);
                }
            });
        }
    }

    /** A step reads the hidden matrices once, for the algebra; only for the radial part, which trains norms, once more. */
    @ParameterizedTest
    @ValueSource(doubles = {0, 1})
    void aStepReadsTheHiddenMatricesOnce(double proxyRate) {
        Architecture architecture = new Architecture(Variant.M1, 11, 2, 8, 4, 5);
        Engine real = Engines.open("reference", architecture.dims(2));
        List<String> calls = new ArrayList<>();
        Engine counting = (Engine) Proxy.newProxyInstance(
                Engine.class.getClassLoader(), new Class<?>[] {Engine.class, Motion.class}, (proxy, method, args) -> {
                    calls.add(method.getName());
                    boolean moves = method.getDeclaringClass() == Motion.class;
                    return method.getName().equals("motion")
                            ? proxy
                            : method.invoke(moves ? real.motion() : real, args);
                });
        Rule trained =
                new Rule(Direction.Muon.standard(), Mode.HYPERTRANSFER.transfer(0.1), 1, 0, View.WHOLE, proxyRate);
        Routing routing = new Routing(
                matrix -> trained, Direction.Adam.standard(), 0.1, other -> 1, Representation.PLAIN, Clip.NONE);
        try (Session session = Session.of(counting, architecture, routing)) {
            session.initialize(1234);
            int[] tokens = new Random(3).ints(10, 0, 11).toArray();
            session.network().loss(tokens, tokens);
            double[] rates = new double[session.optimizer().matrices().size()];
            Arrays.fill(rates, 0.02);
            calls.clear();
            session.optimizer().step(rates, null, 0.01, null);
            assertThat(calls).filteredOn("readings"::equals).hasSize(proxyRate == 0 ? 1 : 2);
            calls.clear();
            double[] radial = session.optimizer().radial();
            assertThat(calls).containsExactly("readings");
            session.optimizer().step(rates, null, 0.01, radial);
            assertThat(calls)
                    .as("which a trained norm takes over")
                    .filteredOn("readings"::equals)
                    .hasSize(2);
        }
    }

    @Test
    void thePlusFormsTellTheLossAtTheCarriersOwnScale() {
        Tiny tiny = new Tiny(dir);
        Configuration plus = tiny.configuration(
                "engine=reference", "network=M2", "matrices.mode=hypertransfer-plus", "matrices.rate=0.2", "steps=10");
        Path run = tiny.train("plus", plus);
        List<Line.Validation> lines = validations(run);
        assertThat(lines.getFirst().carrier())
                .as("both start from one matrix")
                .isEqualTo(lines.getFirst().represented());
        Line.Validation last = lines.getLast();
        assertThat(last.step()).isEqualTo(10);
        assertThat(Math.abs(last.carrier() - last.represented())).isGreaterThan(1e-3);
        assertThat(last.carrier()).isEqualTo(firstWindow(tiny, run));
        assertThat(firstWindow(
                        tiny, tiny.train("base", "engine=reference", "network=M2", "matrices.rate=0.2", "steps=10")))
                .isCloseTo(last.represented(), within(1e-12));

        Path invariant = tiny.train(
                "m1", "engine=reference", "matrices.mode=hypertransfer-plus", "matrices.gradient=mode", "steps=4");
        validations(invariant)
                .forEach(line -> assertThat(line.carrier())
                        .as("M1 at step %s", line.step())
                        .isCloseTo(line.represented(), within(1e-7)));
        Path plain = tiny.train("plain", "matrices.mode=hypertransfer", "steps=4");
        assertThat(validations(plain)).allMatch(line -> Double.isNaN(line.carrier()));
    }

    /** The loss of the first validation micro-batch with the last checkpoint's matrices as they stand there. */
    private static double firstWindow(Tiny tiny, Path run) {
        Configuration plain = tiny.configuration("engine=reference", "network=M2");
        try (Session session = Session.open(plain);
                Feed feed = Feed.open(plain);
                SafeTensors saved = SafeTensors.read(
                        Checkpoint.tensorsOf(new Run(run).checkpoints().getFirst()))) {
            for (Parameter p : session.parameters().own()) {
                session.engine().write(p.master(), saved.values(p.name()));
            }
            session.optimizer().start();
            return session.loss(feed.validation(0));
        }
    }

    private static List<Line.Validation> validations(Path run) {
        return new Run(run).metrics().lines(Line.Validation.class).toList();
    }
}
