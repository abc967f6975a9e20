package hypertransfer.lab.report;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.core.Space;
import hypertransfer.page.Formulas;
import hypertransfer.prediction.Expected;
import hypertransfer.prediction.Prediction;
import hypertransfer.prediction.Translation;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * The formulas in the page are those of core and prediction: every exported function, on numbers drawn at random. A browser
 * has an exp, log, pow and cos of its own, which differ from Java's by at most one unit in the last place. With Java's in
 * their place every number has the same bits; with its own, a run is within 1e-13 of Java's. Two functions are held to
 * less: log1p is log(1 + x) in the page, and a search that compares nearly equal errors may end beside Java's.
 */
class FormulasTest {
    private static final int DRAWS = 1000, AT_ONCE = 100;

    /** One draw: numbers that mean something, now and then one that does not. */
    private record Draw(
            String kind,
            int rows,
            int cols,
            int width,
            boolean normed,
            boolean adam,
            boolean jordan,
            boolean ball,
            boolean toBall,
            String factor,
            String shape,
            double momentum,
            double peak,
            double decay,
            double toDecay,
            double warmup,
            double finalRatio,
            int steps) {

        static Draw of(int number, SplittableRandom random) {
            boolean wrong = random.nextInt(12) == 0, longer = number % 250 == 0;
            return new Draw(
                    one(random, "q", "v", "fc", "proj", "other"),
                    random.nextInt(1, 4097),
                    random.nextInt(1, 4097),
                    random.nextInt(8, 8193),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextBoolean(),
                    random.nextInt(3) == 0,
                    random.nextBoolean(),
                    one(random, "none", "tall", "spectral", "rms"),
                    one(random, "linear", "cosine", "constant", "trapezoid:0.3", "1-sqrt", "power:1.7"),
                    random.nextDouble(wrong ? 1.2 : 0.995),
                    Math.exp(random.nextDouble(-9, 0)) * (wrong ? 20 : 1),
                    random.nextInt(8) == 0 ? 0 : Math.exp(random.nextDouble(-6, 0)),
                    Math.exp(random.nextDouble(-6, 0)),
                    random.nextDouble(wrong ? 1.3 : 0.9),
                    random.nextDouble(),
                    longer ? 1000 : random.nextInt(1, 30));
        }

        private static String one(SplittableRandom random, String... choices) {
            return choices[random.nextInt(choices.length)];
        }

        /** The same as {@link #SCRIPT}. */
        List<String> computed(boolean exact) {
            List<String> bits = new ArrayList<>();
            try {
                double scale = Formulas.factor(factor, jordan, rows, cols);
                Expected matrix = Formulas.muon(kind, rows, cols, scale, momentum);
                Expected from = Formulas.early(matrix, kind, width, normed, momentum);
                Expected to = adam ? Formulas.adam(cols, rows, momentum) : from;
                Shaped schedule = Formulas.schedule(peak, steps, warmup, finalRatio, shape);
                Space base = Formulas.base(decay), other = toBall ? Formulas.hyperball() : Formulas.base(toDecay);
                Space space = ball ? Formulas.hyperball() : base;
                add(bits, scale);
                add(bits, Formulas.measured(adam, normed ? "M1" : "M2", width, steps));
                Prediction run = Formulas.predict(from, space, schedule);
                Prediction follower = Formulas.follow(to, other, Formulas.effective(run));
                add(bits, Formulas.norm(run));
                add(bits, Formulas.nominal(run));
                add(bits, Formulas.effective(run));
                add(bits, Formulas.summary(run));
                add(bits, Formulas.norm(follower));
                add(bits, Formulas.nominal(follower));
                if (exact) { // a difference of nearly equal numbers
                    add(bits, Formulas.impliedDecay(run, from, space));
                    add(bits, Formulas.impliedDecay(follower, to, other));
                }
                add(bits, Formulas.rest(from, peak, decay));
            } catch (Refusal refusal) {
                bits.add(refusal.getMessage());
            }
            return bits;
        }

        private static void add(List<String> bits, double... values) {
            DoubleStream.of(values).forEach(v -> bits.add(Long.toString(Double.doubleToLongBits(v))));
        }
    }

    private static final String SCRIPT = """
            (draws => draws.map(d => {
              const f = formulas;
              const out = [], add = (...values) => out.push(...values.flatMap(v => Array.from(v.length === undefined ? [v] : v)).map(bits));
              try {
                const scale = f.factor(d.factor, d.jordan, d.rows, d.cols), matrix = f.muon(d.kind, d.rows, d.cols, scale, d.momentum);
                const from = f.early(matrix, d.kind, d.width, d.normed, d.momentum), to = d.adam ? f.adam(d.cols, d.rows, d.momentum) : from;
                const schedule = f.schedule(d.peak, d.steps, d.warmup, d.finalRatio, d.shape);
                const base = f.base(d.decay), other = d.toBall ? f.hyperball() : f.base(d.toDecay), space = d.ball ? f.hyperball() : base;
                add(scale, f.measured(d.adam, d.normed ? 'M1' : 'M2', d.width, d.steps));
                const run = f.predict(from, space, schedule), follower = f.follow(to, other, f.effective(run));
                add(f.norm(run), f.nominal(run), f.effective(run), f.summary(run), f.norm(follower), f.nominal(follower));
                if (exact) add(f.impliedDecay(run, from, space), f.impliedDecay(follower, to, other));
                add(f.rest(from, d.peak, d.decay));
              } catch (e) {
                out.push(e.message);
              }
              return out;
            }))(""";

    /** Puts Java's functions in the place of the browser's, as far as their values are known; what is missing is noted. */
    private static final String EXACT = """
            var exact = false, table = new Map(), missing = new Map();
            var bits = v => String(new BigInt64Array(new Float64Array([v]).buffer)[0]);
            var own = Object.fromEntries(['exp', 'log', 'pow', 'cos'].map(name => [name, Math[name]]));
            for (const name in own) {
              Math[name] = (...values) => {
                if (!exact) return own[name](...values);
                const key = [name, ...values.map(bits)].join();
                if (!table.has(key)) missing.set(key, values);
                return table.get(key) ?? own[name](...values);
              };
            }
            var learn = known => known.forEach(([key, value]) => table.set(key, new Float64Array(new BigInt64Array([BigInt(value)]).buffer)[0]));
            var asked = () => { const keys = [...missing.keys()]; missing.clear(); return keys; };""";

    private static double java(String name, double... x) {
        return switch (name) {
            case "exp" -> Math.exp(x[0]);
            case "log" -> Math.log(x[0]);
            case "cos" -> StrictMath.cos(x[0]);
            // prediction has two exponents, and core all others
            case "pow" -> x[1] == 1.4 || x[1] == -1.0 / 6 ? Math.pow(x[0], x[1]) : StrictMath.pow(x[0], x[1]);
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static List<String> learned(String key) {
        String[] parts = key.split(",");
        double[] x = Stream.of(parts)
                .skip(1)
                .mapToDouble(bits -> Double.longBitsToDouble(Long.parseLong(bits)))
                .toArray();
        return List.of(key, Long.toString(Double.doubleToLongBits(java(parts[0], x))));
    }

    private static final long SEED = Long.getLong("ht.seed", 17);

    @TempDir
    static Path folder;

    private static Browser browser;

    private static List<Draw> draws;

    @BeforeAll
    static void open() throws Exception {
        Path page = folder.resolve("page.html");
        Page.calculator(page);
        SplittableRandom random = new SplittableRandom(SEED);
        draws = IntStream.range(0, DRAWS).mapToObj(i -> Draw.of(i, random)).toList();
        browser = new Browser();
        browser.open(page.toUri().toString(), 1280, 900, false);
        browser.evaluate(EXACT);
    }

    @AfterAll
    static void close() throws Exception {
        if (browser != null) {
            browser.close();
        }
    }

    private interface Comparison {
        void of(Draw draw, List<String> got, List<String> wanted);
    }

    /** Leaves the browser with its own functions. */
    private static void compare(boolean exact, Comparison comparison) throws Exception {
        browser.evaluate("exact = " + exact + "; table.clear()");
        for (int from = 0; from < DRAWS; from += AT_ONCE) {
            List<Draw> some = draws.subList(from, from + AT_ONCE);
            String call = SCRIPT + JsonMapper.shared().writeValueAsString(some) + ")";
            JsonNode got = browser.evaluate(call);
            for (JsonNode keys = ask();
                    !keys.isEmpty();
                    keys = ask()) { // a power decides what an exponential is taken of
                List<List<String>> known =
                        keys.valueStream().map(key -> learned(key.asString())).toList();
                browser.evaluate("learn(" + JsonMapper.shared().writeValueAsString(known) + ")");
                got = browser.evaluate(call);
            }
            for (int i = 0; i < AT_ONCE; i++) {
                comparison.of(
                        some.get(i),
                        got.get(i).valueStream().map(JsonNode::asString).toList(),
                        some.get(i).computed(exact));
            }
        }
        browser.evaluate("exact = false");
    }

    private static JsonNode ask() throws Exception {
        return browser.evaluate("asked()");
    }

    @Test
    void aThousandVectorsHaveTheBitsOfJava() throws Exception {
        int[] refused = {0}, numbers = {0};
        compare(true, (draw, got, wanted) -> {
            assertThat(got).as("seed %d: %s", SEED, draw).isEqualTo(wanted);
            refused[0] += wanted.getLast().contains(";") ? 1 : 0;
            numbers[0] += wanted.size();
        });
        assertThat(refused[0]).as("draws that are refused").isBetween(20, 400);
        assertThat(numbers[0]).isGreaterThan(50_000);
    }

    @Test
    void withTheBrowsersOwnFunctionsTheyAreClose() throws Exception {
        double[] worst = {0};
        compare(false, (draw, got, wanted) -> {
            assertThat(got).as("seed %d: %s", SEED, draw).hasSameSizeAs(wanted);
            for (int i = 0; i < got.size(); i++) {
                if (!got.get(i).equals(wanted.get(i))) {
                    double a = number(got.get(i)), b = number(wanted.get(i));
                    worst[0] = Math.max(worst[0], Math.abs(a / b - 1));
                }
            }
        });
        assertThat(worst[0]).isLessThan(1e-13);
    }

    /** A unit in the last place of 1 - e l is that much of the logarithm. */
    @Test
    void theTimeToRestIsAsGoodAsItsLogarithm() throws Exception {
        for (Draw draw :
                draws.stream().filter(d -> d.decay > 0 && d.peak * d.decay < 1).toList()) {
            double got = browser.number("formulas.stepsToRest(%s, %s, 0.05)".formatted(draw.peak, draw.decay));
            double unit = Math.ulp(1.0) / (draw.peak * draw.decay);
            assertThat(got / Formulas.stepsToRest(draw.peak, draw.decay, 0.05)).isCloseTo(1, within(unit + 1e-15));
        }
    }

    @Test
    void aCarriedRateIsThatOfJava() throws Exception {
        for (Draw d : draws.stream()
                .filter(d -> d.momentum < 0.99 && d.warmup < 1 && d.peak < 0.5)
                .limit(12)
                .toList()) {
            List<Translation.Matrix> all = Formulas.matrices();
            Expected from = Formulas.muon("fc", d.rows, d.cols, 1, d.momentum), to = Formulas.adam(d.rows, d.cols, 0.9);
            Formulas.add(all, from, to, 3);
            Formulas.add(all, Formulas.early(from, "fc", d.width, true, d.momentum), to, 1);
            Shaped schedule = Formulas.schedule(d.peak, d.steps, d.warmup, d.finalRatio, d.shape);
            double[] wanted = Formulas.carry(
                    all,
                    Formulas.base(d.decay),
                    schedule,
                    d.toBall ? Formulas.hyperball() : Formulas.base(d.toDecay),
                    schedule);
            List<Double> got = browser.numbers("""
                    (d => {
                      const all = formulas.matrices(), from = formulas.muon('fc', d.rows, d.cols, 1, d.momentum), to = formulas.adam(d.rows, d.cols, 0.9);
                      formulas.add(all, from, to, 3);
                      formulas.add(all, formulas.early(from, 'fc', d.width, true, d.momentum), to, 1);
                      const schedule = formulas.schedule(d.peak, d.steps, d.warmup, d.finalRatio, d.shape);
                      return Array.from(formulas.carry(all, formulas.base(d.decay), schedule, d.toBall ? formulas.hyperball() : formulas.base(d.toDecay), schedule));
                    })(""" + JsonMapper.shared().writeValueAsString(d) + ")");
            assertThat(got.get(2)).as("error: %s", d).isCloseTo(wanted[2], within(1e-12));
            assertThat(got.get(0) / wanted[0]).as("rate: %s", d).isCloseTo(1, within(1e-6));
            assertThat(got.get(1)).as("final ratio: %s", d).isCloseTo(wanted[1], within(1e-6));
        }
    }

    @Test
    void everyFunctionIsTested() throws Exception {
        List<String> exported = browser.evaluate("Object.keys(formulas)")
                .valueStream()
                .map(JsonNode::asString)
                .toList();
        assertThat(exported)
                .containsExactlyInAnyOrderElementsOf(Stream.of(Formulas.class.getDeclaredMethods())
                        .filter(method -> Modifier.isPublic(method.getModifiers()))
                        .map(Method::getName)
                        .toList());
        String text = Files.readString(Path.of("src/test/java/hypertransfer/lab/report/FormulasTest.java"));
        assertThat(exported)
                .allMatch(name -> text.contains("f." + name + "(") || text.contains("formulas." + name + "("));
    }

    private static double number(String bits) {
        return Double.longBitsToDouble(Long.parseLong(bits));
    }
}
