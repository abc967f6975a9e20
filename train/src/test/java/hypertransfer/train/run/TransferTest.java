package hypertransfer.train.run;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Diverged;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Mode;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Run.Curves;
import hypertransfer.train.optimizer.Matrix;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Runs that follow others: in double precision their curves agree to rounding. */
class TransferTest {
    private static final List<String> EXACT = List.of("engine=reference", "steps=20", "checkpoint.every=10");

    private final Tiny tiny;

    TransferTest(@TempDir Path dir) {
        tiny = new Tiny(dir);
    }

    private Path exact(String name, String... settings) {
        return tiny.train(name, tiny.configuration(EXACT, settings));
    }

    /** A file with the rates of a run. */
    private Path rates(Path run, String series) {
        Path file = tiny.path(series + ".json");
        recorded(run, series).write(file);
        return file;
    }

    private static RecordedRates recorded(Path run, String series) {
        return RecordedRates.of(new Run(run), series, told -> {});
    }

    /** The largest difference of training losses, over the steps that both have logged. */
    static double gap(Path a, Path b) {
        Map<Integer, Double> own = Tiny.curves(a).losses(),
                other = Tiny.curves(b).losses();
        assertThat(own).isNotEmpty();
        return own.keySet().stream()
                .mapToDouble(step -> Math.abs(own.get(step) - other.get(step)))
                .max()
                .orElseThrow();
    }

    @Test
    void autoTakesTheRuleThatIsExactForEachMatrix() {
        Configuration c = tiny.configuration(
                "network=M2", "matrices.mode=hypertransfer", "matrices.gradient=auto", "matrices.master=float32");
        try (Session session = Session.open(c)) {
            assertThat(session.rules())
                    .hasSize(6)
                    .allSatisfy((matrix, rule) -> assertThat(rule)
                            .isEqualTo(
                                    matrix.matches(".*attn\\.[qk]\\.weight")
                                            ? GradientRule.RESCALED
                                            : GradientRule.REPRESENTATIVE));
            assertThat(session.routing().table(session.parameters().all()).lines())
                    .filteredOn(line -> line.contains("attn.q.") || line.contains("attn.k."))
                    .hasSize(2)
                    .allMatch(line -> line.contains(", gradient rescaled, Muon "));
            assertThat(session.routing().table(session.parameters().all()).lines())
                    .filteredOn(line -> line.contains(", gradient representative, Muon "))
                    .hasSize(4);
        }
    }

    /** The rules follow from the network's norms, and nothing is measured when a run starts. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "network=M1",
                "network=M2",
                "network=M1 model.mlp=gelu model.norm=layer model.window=2",
                "network=M1 model.mlp=swiglu model.kv_heads=1 model.qk_norm=false model.tied=true",
                "network=M2 model.mlp=swiglu model.kv_heads=1 model.norm=layer",
                "network=M2 model.mlp=gelu model.norm=layer model.qk_norm=false model.bias=true"
                        + " model.positions=learned model.embed_norm=false model.tied=true", // GPT-2
                "network=M2 model.mlp=swiglu model.qk_norm=false model.embed_norm=false" // Llama
            })
    void autoTakesTheRulesThatAreMeasured(String network) {
        List<String> settings = new ArrayList<>(List.of(network.split(" ")));
        settings.addAll(List.of("engine=reference", "matrices.gradient=auto"));
        for (Mode mode : List.of(Mode.BASE, Mode.HYPERTRANSFER, Mode.FAIR)) {
            for (String master : List.of("float32", "float64")) {
                Configuration c =
                        tiny.configuration(settings, "matrices.mode=" + mode.label(), "matrices.master=" + master);
                try (Session session = Session.open(c)) {
                    assertThat(session.rules())
                            .as(mode + " " + master)
                            .isEqualTo(Invariance.measure(c).rules());
                }
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"base,hypertransfer", "hyperball,inverse-hypertransfer"})
    void autoFollowsItsTargetWhereTheModesOwnRuleDoesNot(String target, String mode) {
        Path followed = exact("target", "network=M2", "matrices.mode=" + target);
        Path auto = exact("auto", "network=M2", "matrices.mode=" + mode, "matrices.gradient=auto");
        Path own = exact("own", "network=M2", "matrices.mode=" + mode);
        assertThat(gap(auto, followed)).isLessThan(1e-9);
        assertThat(gap(own, followed)).as("rescaled is not exact on M2").isGreaterThan(1e-5);
    }

    /** They were refused at the first step, for they have no norm that could be scaled to the radius. */
    @Test
    void autoLeavesMatricesThatStartAtZeroWhereTheyAre() {
        String zero = "matrices.groups={o|proj: {init: zero}}";
        Path auto = exact("auto", "network=M1", zero, "matrices.gradient=auto", "steps=4");
        assertThat(gap(auto, exact("usual", "network=M1", zero, "steps=4"))).isZero();
    }

    @Test
    void aRecordedScheduleInducesTheRunItCameFrom() {
        Path fair = exact("fair", "matrices.mode=fair");
        Path base = exact("base", "matrices.recorded=" + rates(fair, "rate"));
        assertThat(gap(base, fair)).isLessThan(1e-9);
        assertThat(gap(base, exact("without"))).isGreaterThan(1e-5);

        // without momentum a Hyperball sees gradients that differ from Muon's only by a factor, which Muon ignores
        Path muon = exact("muon", "matrices.momentum=0");
        String recorded = "matrices.recorded=" + rates(muon, "effective");
        Path ball = exact("ball", "matrices.momentum=0", "matrices.mode=hyperball", recorded);
        assertThat(gap(ball, muon)).isLessThan(1e-9);
    }

    /** Effective rates drove a Base run, without a word. */
    @Test
    void aSeriesThatDoesNotFitTheTargetIsRefused() {
        Path file = rates(tiny.train("two", "steps=2"), "effective");
        assertRefused(
                () -> tiny.train("base", "steps=2", "matrices.recorded=" + file),
                "holds effective rates, which are for a Hyperball");
    }

    /** A Hyperball took the nominal rates of a Base run as angles, and the other way around, without a word. */
    @ParameterizedTest
    @CsvSource({
        "base, hyperball, holds nominal rates of a Base space, effective",
        "hypertransfer, base, holds rates of a Hyperball, replay"
    })
    void ratesOfTheOtherSpaceAreRefused(String own, String other, String problem, String series) throws Exception {
        Path file = rates(tiny.train("own", "steps=2", "matrices.mode=" + own), "rate");
        String[] taking = {"steps=2", "matrices.mode=" + other, "matrices.recorded=" + file};
        assertRefused(() -> tiny.train("other", taking), problem, "record with --series " + series);
        Files.writeString(file, Files.readString(file).replaceFirst("\"angles\":(true|false),", ""));
        tiny.train("older", taking); // a file of the version before has no such key
        Path both = tiny.train("both", "steps=2", "matrices.mode=" + own, "matrices.groups.fc.mode=" + other);
        assertThat(recorded(both, "rate").angles()).isNull();
    }

    @Test
    void aRecordedScheduleThatDoesNotFit() throws Exception {
        tiny.trainUntil("run", tiny.configuration("steps=10"), 7);
        assertRefused(
                () -> recorded(tiny.path("run"), "rate"),
                "logged matrices up to step 6 of 10; a schedule needs a finished run");
        Path file = Files.writeString(
                tiny.path("rates.json"),
                "{\"source\":\"x\",\"series\":\"rate\",\"rates\":{\"blocks.0.attn.q.weight\":[0.1,null]}}");
        assertRefused(
                () -> tiny.train("two", "steps=2", "matrices.recorded=" + file),
                "has 1 numbers for blocks.0.attn.q.weight and 2 for the first");
        assertRefused(
                () -> tiny.train("three", "matrices.recorded=" + tiny.path("none")),
                "write one with 'ht schedule RUN'");
    }

    /** Going on in the space one is in changes nothing, bit for bit. */
    @ParameterizedTest
    @EnumSource
    void fromACheckpointOfTheSameMode(Mode mode) {
        Configuration c = tiny.configuration(
                "steps=9", "checkpoint.every=5", "matrices.mode=" + mode.label(), "matrices.target_decay=0.3");
        Path whole = tiny.train("whole", c);
        Path late = tiny.train("late", ConfigurationFile.with(c, "from.run=" + whole, "from.step=5"));
        assertThat(Tiny.curves(late).losses())
                .isEqualTo(Tiny.curves(whole).losses().tailMap(5))
                .hasSize(4);
        assertThat(lines(late)).isEqualTo(lines(whole).subList(5, 9));
    }

    private static List<String> lines(Path run) {
        return Tiny.matrices(run).values().stream().map(Line::text).toList();
    }

    @ParameterizedTest
    @CsvSource({
        "base,hypertransfer,M1",
        "hyperball,inverse-hypertransfer,M1",
        "base,hypertransfer-plus,M2",
        "hypertransfer,base,M1",
        "inverse-hypertransfer,hyperball,M1",
        "hypertransfer-plus,base,M2"
    })
    void aChangeOfSpaceGoesOnWithTheSameDynamics(String before, String after, String network) {
        Configuration c = tiny.configuration(EXACT, "network=" + network, "matrices.mode=" + before);
        Path whole = tiny.train("whole", c);
        Configuration changed =
                ConfigurationFile.with(c, "matrices.mode=" + after, "from.run=" + whole, "from.step=10");
        tiny.trainUntil("changed", changed, 15);
        tiny.resume("changed"); // from its own checkpoint now, not the other's
        Path run = tiny.path("changed");
        assertThat(Tiny.curves(run).losses().firstKey()).isEqualTo(10);
        assertThat(gap(run, whole)).isLessThan(1e-9);
        double[] norms = Tiny.matrices(run).get(10).targetNorm();
        double[] expected = Tiny.matrices(whole).get(10).targetNorm();
        for (int k = 0; k < expected.length; k++) {
            assertThat(norms[k]).isCloseTo(expected[k], within(1e-9 * expected[k]));
        }
    }

    /** One window is all the data, so training and validation see the same tokens and weights; they differed by 6.7e-3. */
    @Test
    void aPrescribedProxyNormIsValidatedAndSavedToo() throws Exception {
        Path window = window();
        Path run = exact(
                "proxy",
                "network=M2",
                "matrices.mode=hypertransfer-plus",
                "matrices.proxy_growth=3",
                "steps=12",
                "data.train=" + window,
                "data.validation=" + window,
                "validation.every=1");
        Curves curves = Tiny.curves(run);
        for (int step = 0; step < 11; step++) { // all but the last tenth, which has the paper's cadence
            assertThat(curves.validations().get(step))
                    .as("step " + step)
                    .isEqualTo(curves.losses().get(step));
        }
        Checkpoint last = Checkpoint.read(new Run(run).checkpoints().getFirst());
        assertThat(last.states()).allSatisfy(s -> assertThat(s.targetNorm()).isEqualTo(3 * s.R()));
    }

    /** A shard with room for one micro-batch, which every step and every validation then is. */
    private Path window() throws Exception {
        byte[] shard = Files.readAllBytes(Path.of(tiny.configuration().data().train()));
        byte[] one = Arrays.copyOf(shard, 1024 + 2 * 33);
        ByteBuffer.wrap(one).order(ByteOrder.LITTLE_ENDIAN).putInt(8, 33);
        return Files.write(tiny.path("window.bin"), one);
    }

    /** With matrices that hardly move, the loss falls because norms do; where it does not depend on them, they stay. */
    @Test
    void aTrainedProxyNormDescends() throws Exception {
        Path window = window();
        Path run = exact(
                "trained",
                "network=M2",
                "matrices.mode=hypertransfer-plus",
                "matrices.rate=1e-9",
                "matrices.schedule=constant",
                "matrices.warmup=0",
                "matrices.proxy_rate=3e9",
                "adamw.rate=0",
                "steps=12",
                "data.train=" + window,
                "data.validation=" + window);
        Curves curves = Tiny.curves(run);
        Map<Integer, Line.Matrices> lines = Tiny.matrices(run);
        for (int step = 1; step < 12; step++) {
            Line.Matrices before = lines.get(step - 1), now = lines.get(step);
            assertThat(curves.losses().get(step))
                    .as("step " + step)
                    .isLessThan(curves.losses().get(step - 1));
            for (int k = 0; k < now.norm().length && step == 1; k++) { // every tenth line has the cosine
                double expected = before.targetNorm()[k] * Math.exp(-3 * before.radial()[k]);
                assertThat(now.targetNorm()[k]).isCloseTo(expected, within(1e-12));
            }
        }
        double[] first = lines.get(0).targetNorm(), last = lines.get(11).targetNorm();
        assertThat(last[0]).as("q").isCloseTo(first[0], within(1e-6));
        assertThat(last[3]).as("o").isNotCloseTo(first[3], within(1e-3));
    }

    /** It was called damage, which ends a sweep. */
    @Test
    void aTrainedProxyNormThatOverflowsHasDiverged() {
        assertThatThrownBy(() -> exact(
                        "overflow", "network=M2", "matrices.mode=hypertransfer-plus", "matrices.proxy_rate=1e300"))
                .isInstanceOf(Diverged.class)
                .hasMessageContaining("lower matrices.proxy_rate");
    }

    /** A rate that moves no norm leaves the run as it is where norms are held, also where parts are copied and clamped. */
    @Test
    void aTrainedProxyNormDoesNotUndoClipping() {
        List<String> held = new ArrayList<>();
        for (String norm : List.of("proxy_growth=1", "proxy_rate=1e-12")) {
            Path run = exact(
                    norm.split("=")[0],
                    "network=M2",
                    "matrices.mode=hypertransfer-plus",
                    "matrices.view=heads",
                    "matrices.direction=sgd",
                    "clip.value=1e-4",
                    "steps=6",
                    "matrices." + norm);
            held.add(Tiny.curves(run).losses().values().stream()
                    .map("%.7f"::formatted)
                    .toList()
                    .toString());
        }
        assertThat(held.getLast()).isEqualTo(held.getFirst());
    }

    @Test
    void aScheduleOfARunLoggedSometimesIsInterpolated() {
        Path run = tiny.train("run", "log.matrices_every=10");
        RecordedRates rates = recorded(run, "rate");
        assertThat(rates.logged()).isEqualTo(5); // 0, 10, 20, 30 and the last
        Map<Integer, Line.Matrices> lines = Tiny.matrices(run);
        List<Double> first = rates.rates().values().iterator().next();
        assertThat(first).hasSize(40);
        assertThat(first.get(20)).isEqualTo(lines.get(20).rate()[0]);
        assertThat(first.get(24)).isCloseTo(0.6 * first.get(20) + 0.4 * first.get(30), within(1e-15));
    }

    /** Plain Muon takes the very steps of MuonH with the rate and the decay of each step. */
    @Test
    void aHyperballIsReplayedByThePlainOptimizer() {
        Path ball = exact("ball", "network=M2", "steps=12", "matrices.mode=hyperball");
        Path file = rates(ball, "replay");
        assertThat(RecordedRates.read(file).decays().values())
                .allMatch(own -> own.stream().anyMatch(decay -> decay > 0));
        Path base = exact("base", "network=M2", "steps=12", "matrices.recorded=" + file);
        assertThat(gap(base, ball)).isLessThan(1e-13);
        double[] norm = Tiny.matrices(base).lastEntry().getValue().norm();
        assertThat(norm)
                .containsExactly(Tiny.matrices(ball).lastEntry().getValue().norm(), within(1e-12));

        for (String setting : List.of("steps=13", "matrices.mode=hyperball")) {
            String[] all = {"network=M2", "steps=12", "matrices.recorded=" + file, setting};
            assertRefused(() -> tiny.train("no " + setting, all), "rates and weight decays");
        }
        Path twin = tiny.train("twin", "steps=2", "matrices.mode=hypertransfer");
        assertRefused(() -> recorded(twin, "replay"), "was not taken as it is (at-radius)");
    }

    @Test
    void aScheduleTravelsToAnotherHorizonAndDepth() {
        Path file = rates(tiny.train("fair", "model.layers=3", "steps=11", "matrices.mode=fair"), "rate");
        RecordedRates recorded = RecordedRates.read(file);
        List<String> told = new ArrayList<>();
        Configuration longer = tiny.configuration("model.layers=5", "steps=21", "matrices.recorded=" + file);
        ScheduledRates rates = ScheduledRates.of(longer, matrices(longer), told::add);
        assertThat(told).hasSize(2);
        assertThat(told.getFirst()).contains("fair has 3 layers and this run 5", "relative depth");
        assertThat(told.getLast()).contains("has 11 steps and this run 21: it is stretched");
        List<Double> first = recorded.rates().get("blocks.0.mlp.fc.weight"),
                second = recorded.rates().get("blocks.1.mlp.fc.weight"),
                last = recorded.rates().get("blocks.2.mlp.fc.weight");
        int fc = 4; // of each layer's six
        assertThat(rates.at(0)[fc]).isEqualTo(first.getFirst());
        assertThat(rates.at(20)[6 * 4 + fc]).isEqualTo(last.getLast());
        assertThat(rates.at(10)[6 + fc]).isCloseTo((first.get(5) + second.get(5)) / 2, within(1e-15));
        assertThat(rates.at(11)[6 * 2 + fc]).isCloseTo((second.get(5) + second.get(6)) / 2, within(1e-15));
        assertThat(rates.decaysAt(0)).isNull();
        Configuration shallow = tiny.configuration("steps=11", "matrices.recorded=" + file);
        ScheduledRates middle = ScheduledRates.of(shallow, matrices(shallow), told::add);
        assertThat(middle.at(3)[fc]).as("one layer takes the middle").isEqualTo(second.get(3));
        Path flat = rates(tiny.train("flat", "model.layers=1", "steps=21", "matrices.mode=fair"), "rate");
        Configuration deeper = tiny.configuration("model.layers=5", "steps=21", "matrices.recorded=" + flat);
        ScheduledRates.of(deeper, matrices(deeper), told::add);
        assertThat(told.getLast()).contains("flat has 1 layer and this run 5");
    }

    private static List<Matrix> matrices(Configuration c) {
        return Matrix.of(c.architecture().hidden(), c.routing(false), c.model().head());
    }

    @Test
    void aScheduleThatIsNoneIsRefused() throws Exception {
        for (String text : List.of(
                "{\"series\":\"replay\",\"rates\":{\"a\":[1]}}",
                "{\"series\":\"x\",\"rates\":{\"a\":[1]}}",
                "{\"series\":\"rate\",\"rates\":{}}",
                "null",
                "[]",
                "{}",
                "{\"series\":\"rate\",\"rates\":{\"a\":null}}",
                "{\"rate\":1}")) {
            Path file = Files.writeString(tiny.path("s.json"), text);
            assertRefused(() -> RecordedRates.read(file), file + " is not a recorded schedule");
        }
    }
}
