package hypertransfer.train.golden;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Mode;
import hypertransfer.core.Schedule;
import hypertransfer.core.ShapeFactor;
import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Motion.Iteration;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Variant;
import hypertransfer.train.optimizer.AdaMuon;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Lion;
import hypertransfer.train.optimizer.NorMuon;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.optimizer.Signum;
import hypertransfer.train.optimizer.Soap;
import hypertransfer.train.optimizer.SoapMuon;
import hypertransfer.train.run.Session;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Holds the Python package to the engine {@code reference}: {@code python/tests/trajectories.json} has the losses of every
 * direction in every mode over 50 steps, and the package's tests train the same network from the same numbers. After a
 * change, write the file anew: {@code mvn -pl train -am test -Dtest=TrajectoryTest -Dvectors=write}.
 */
class TrajectoryTest {
    private static final Path FILE = Path.of("../python/tests/trajectories.json");
    private static final int STEPS = 50, BATCH = 2;
    private static final Architecture NETWORK = new Architecture(Variant.M2, 13, 1, 12, 6, 7);

    private record Way(String name, Direction direction, double rate) {}

    private static final Iteration POLAR = Direction.Muon.iteration(Coefficients.POLAR_EXPRESS, 0);
    private static final Soap SOAP = new Soap(0.95, 0.95, 1e-10, 0.95, 10, 10_000);
    private static final List<Way> WAYS = List.of(
            new Way("muon", Direction.Muon.standard(), 0.02),
            new Way("adam", Direction.Adam.standard(), 0.004),
            new Way("sgd", new Direction.Sgd(0.95, true), 0.2),
            new Way("lion", new Lion(0.9, 0.99), 0.002),
            new Way("signum", new Signum(0.9, true), 0.002),
            new Way("normuon", new NorMuon(Direction.Muon.standard(), 0.95, 1e-10), 0.02),
            new Way("adamuon", new AdaMuon(0.95, false, POLAR, 0.95, 1e-10), 0.02),
            new Way("soap", SOAP, 0.004),
            new Way("soap-muon", new SoapMuon(SOAP, POLAR, ShapeFactor.RMS), 0.02));

    @Test
    void lossesOfThePythonPackageAreThese() throws Exception {
        Map<String, double[]> made = new LinkedHashMap<>();
        for (Way way : WAYS) {
            for (Mode mode : Mode.values()) {
                made.put(way.name + " " + mode.label(), losses(way, mode));
            }
        }
        if ("write".equals(System.getProperty("vectors"))) {
            Files.writeString(FILE, JsonMapper.shared().writeValueAsString(made).replace("],", "],\n") + "\n");
        }
        JsonNode read = JsonMapper.shared().readTree(Files.readString(FILE));
        assertThat(read.propertyNames()).containsExactlyElementsOf(made.keySet());
        made.forEach((name, losses) -> {
            for (int t = 0; t < STEPS; t++) {
                assertThat(read.get(name).get(t).asDouble())
                        .as(name + ", step " + t)
                        .isCloseTo(losses[t], within(1e-12));
            }
        });
    }

    private static double[] losses(Way way, Mode mode) {
        Transfer transfer = mode.transfer(0.1);
        transfer = mode == Mode.DECAY_TRANSFER ? transfer.following(new Space.Base(0.3)) : transfer;
        double peak = transfer.target() instanceof Space.Base ? way.rate : 0.03;
        Schedule rate = Schedule.linear(peak, STEPS, 0.05, 0.1), rest = Schedule.linear(0.005, STEPS, 0.05, 0.1);
        Engine engine = Engines.open("reference", NETWORK.dims(BATCH));
        double[] losses = new double[STEPS];
        try (Session session = Session.of(engine, NETWORK, Routing.standard(way.direction, transfer))) {
            long seed = 1;
            for (Parameter p : session.parameters().all().stream()
                    .sorted(Comparator.comparing(Parameter::name))
                    .toList()) {
                double width = p.hidden() ? 2 / Math.sqrt(p.weight().cols()) : 0.5;
                DoubleStream numbers =
                        numbers(seed++, Math.toIntExact(p.weight().size()));
                engine.write(p.master(), numbers.map(x -> x * width).toArray());
            }
            session.optimizer().start();
            for (int t = 0; t < STEPS; t++) {
                engine.zero(session.parameters().gradients());
                int n = BATCH * NETWORK.sequence();
                int[] tokens = numbers(1000 + t, n + 1)
                        .mapToInt(x -> (int) ((x + 0.5) * NETWORK.vocab()))
                        .toArray();
                session.network().gradient(Arrays.copyOf(tokens, n), Arrays.copyOfRange(tokens, 1, n + 1));
                losses[t] = session.network().meanLoss();
                session.optimizer().step(rate.rate(t), rest.rate(t));
            }
        }
        return losses;
    }

    /** The same numbers in every language: a linear congruence, from -0.5 to 0.5. */
    private static DoubleStream numbers(long seed, int count) {
        long[] x = {seed};
        return IntStream.range(0, count).mapToDouble(i -> {
            x[0] = x[0] * 6364136223846793005L + 1442695040888963407L;
            return (x[0] >>> 11) * 0x1p-53 - 0.5;
        });
    }
}
