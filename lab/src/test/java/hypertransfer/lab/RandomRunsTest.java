package hypertransfer.lab;

import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.file.Folder;
import hypertransfer.train.log.Gap;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Differences;
import hypertransfer.train.network.Outline;
import hypertransfer.train.optimizer.Directions;
import hypertransfer.train.optimizer.Representation;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Configurations that are drawn at random. Each is refused in one sentence, or trained for a few steps; ended at a random
 * operation on files and continued, it has the bits of the undisturbed run; followed by the mode that fits, it has a gap of
 * zero and is certified to be the same; and the gradients of its network are finite differences.
 */
class RandomRunsTest {
    private final Cases cases = new Cases("RandomRunsTest");

    @TempDir
    Path dir;

    private Ht ht;
    private String about;

    @Test
    @Timeout(value = 3, unit = TimeUnit.HOURS)
    void everyConfigurationHoldsWhatIsPromised() throws Throwable {
        ht = new Ht(new Shim());
        cases.run(7, (number, random) -> {
            List<String> settings = draw(random);
            about = "case " + number + ": " + String.join(" ", settings);
            try {
                one(settings, random);
            } finally {
                Disk.reset();
                try (Stream<Path> made = Files.list(dir)) {
                    for (Path path : made.toList()) {
                        Folder.delete(path);
                    }
                }
            }
        });
    }

    private void one(List<String> settings, SplittableRandom random) throws Exception {
        Configuration c;
        try {
            c = ConfigurationFile.of(settings.toArray(String[]::new));
        } catch (Refusal | EngineException e) { // the command below says it in its sentence
            c = null;
        }
        Path empty = Files.writeString(dir.resolve("empty.yaml"), "{}\n"), run = dir.resolve("run");
        List<Object> train = List.of("train", empty, "--out", run, Ht.set(settings.toArray(String[]::new)));
        Disk.reset();
        int exit = ht.run(train.toArray());
        long operations = Disk.reset();
        cases.count("train " + exit);
        sentence(exit, "train");
        if (exit != 0) {
            return;
        }
        if (c.hidden().values().stream().anyMatch(m -> !m.policy().text().equals("none"))) {
            cases.count("norm policies");
        }
        boolean exact = exact(c) && !ht.out().contains(" is not exact on ");
        Map<String, Object> undisturbed = result(run);
        Path again = dir.resolve("again");
        Object[] killed = {"train", empty, "--out", again, Ht.set(settings.toArray(String[]::new))};
        Disk.halts(random.nextLong(operations));
        ht.run(killed);
        Disk.reset();
        int resumed = ht.run(killed);
        cases.count("resumed " + resumed);
        if (resumed != 0 || !result(again).equals(undisturbed)) {
            wrong("killed and given again: exit " + resumed + ", " + ht.err().strip());
        }
        transferred(c, exact, run, random);
        gradients(c);
    }

    /** Followed in another space by the mode that fits. */
    private void transferred(Configuration c, boolean exact, Path run, SplittableRandom random) {
        boolean base = !(c.matrices().transfer().target() instanceof Space.Hyperball);
        boolean normed = c.architecture().invariant()
                && c.hidden().values().stream()
                        .allMatch(m -> Stream.of(Outline.Kind.values())
                                .allMatch(kind -> m.view().invariant(c.architecture(), kind)));
        List<Mode> fitting = base
                ? List.of(Mode.HYPERTRANSFER_PLUS, Mode.HYPERTRANSFER, Mode.DECAY_TRANSFER)
                : List.of(Mode.INVERSE_HYPERTRANSFER_PLUS, Mode.INVERSE_HYPERTRANSFER);
        Mode mode = normed ? fitting.get(random.nextInt(fitting.size())) : fitting.getFirst();
        Path twin = dir.resolve("twin");
        boolean told = ht.run("transfer", run, "--mode", mode.label(), "--out", twin) == 0;
        int exit = told ? 0 : sentence(2, "transfer");
        cases.count("transfer " + exit);
        if (exit == 0 && exact && !ht.out().contains(" is not exact on ")) {
            Gap gap = Gap.of(twin, run);
            double largest = Math.max(gap.training().largest(), gap.validation().largest());
            cases.count(largest == 0 ? "gap 0" : "gap");
            if (largest != 0) {
                wrong(mode.label() + " has a gap of " + largest);
            }
            int certified = ht.run("certify", run, twin);
            cases.count("certify " + certified);
            if (certified != 0) {
                wrong(mode.label() + " is not certified: " + ht.out() + ht.err());
            }
        }
    }

    /** Whether a transfer follows the run to the last bit: the defaults, and no gradient that is not its target's. */
    private static boolean exact(Configuration c) {
        Representation weights = c.matrices().weights();
        return weights.master() == Representation.Master.FLOAT64
                && weights.grid() == 16
                && weights.placebo() == 1
                && c.matrices().proxyGrowth() == null
                && c.hidden().values().stream()
                        .allMatch(m ->
                                m.gradient() == Matrices.Gradient.EXACT && m.mode() != Mode.FAIR && m.proxyRate() == 0);
    }

    private void gradients(Configuration c) {
        Architecture tiny = new Architecture(c.network(), c.model().design(), 7, 1, 8, 4, 4);
        for (String engine : List.of("reference", "cpu")) {
            Format format = engine.equals("cpu") ? Format.FLOAT32 : Format.FLOAT64;
            for (Differences d : Differences.of(dims -> Engines.open(engine, dims), tiny)) {
                boolean none = d.largest() < 1e-7; // such as of queries that see one key
                cases.count(none ? "gradients that are zero" : "gradients");
                if (!none && !d.accepted(format)) {
                    wrong("the gradient of " + d.parameter() + " on " + engine + " is off by " + d.error());
                }
            }
        }
    }

    /** Refuses with one sentence, whatever it is. */
    private int sentence(int exit, String what) {
        String said = ht.err().strip();
        boolean one = said.lines().filter(line -> line.startsWith("ht: ")).count() == 1;
        if (exit > 3 || exit > 0 && !one || said.contains("this is a bug")) {
            wrong(what + ": exit " + exit + ", " + said);
        }
        return exit;
    }

    private void wrong(String what) {
        cases.wrong(about + ": " + what);
    }

    /** Everything that must be the same: all lines apart from their times, and all checkpoints. */
    private static Map<String, Object> result(Path run) throws Exception {
        Map<String, Object> result = new TreeMap<>();
        for (String name : List.of(Run.METRICS, Run.MATRICES)) {
            result.put(name, Files.readString(run.resolve(name)).replaceAll(",\"seconds\":[^,}]*", ""));
        }
        for (Path file : Workshop.regular(run.resolve(Run.CHECKPOINTS))) {
            result.put(file.getFileName().toString(), ByteBuffer.wrap(Files.readAllBytes(file)));
        }
        return result;
    }

    /** Some keys, each with a value that it may have; not all go together. */
    private static List<String> draw(SplittableRandom random) {
        List<String> settings = new ArrayList<>(List.of("validation.batches=1", "model.vocab=256"));
        int head = any(random, 4, 8), heads = any(random, 1, 2, 2, 4);
        add(settings, "engine", any(random, "cpu", "cpu", "cpu", "reference"));
        add(settings, "seed", random.nextInt(1000));
        add(settings, "steps", random.nextInt(3, 9));
        add(settings, "checkpoint.every", random.nextInt(1, 5));
        add(settings, "checkpoint.keep", random.nextInt(1, 4));
        add(settings, "network", any(random, "M1", "M2"));
        add(settings, "model.layers", any(random, 1, 1, 2));
        add(settings, "model.head", head);
        add(settings, "model.width", head * heads);
        add(settings, "model.sequence", any(random, 4, 8, 13));
        add(settings, "model.batch", any(random, 1, 2, 3));
        add(settings, "matrices.rate", any(random, 0.003, 0.01, 0.02, 0.05));
        add(settings, "adamw.rate", any(random, 0.003, 0.02));
        String mode = any(random, "base", "base", "hyperball", mode(random));
        add(settings, "matrices.mode", mode);
        add(settings, "matrices.direction", any(random, "muon", direction(random)));
        Map<String, Object[]> more = new TreeMap<>();
        more.put("model.accumulation", new Object[] {1, 2, 3});
        more.put("model.recompute", new Object[] {true});
        more.put("model.mlp", new Object[] {"gelu", "swiglu"});
        more.put("model.mlp_width", new Object[] {5, 24});
        more.put("model.kv_heads", new Object[] {1, 2});
        more.put("model.window", new Object[] {1, 3});
        more.put("model.qk_norm", new Object[] {false});
        more.put("model.positions", new Object[] {"learned", "none"});
        more.put("model.norm", new Object[] {"layer"});
        more.put("model.embed_norm", new Object[] {false});
        more.put("model.bias", new Object[] {true});
        more.put("model.tied", new Object[] {true});
        more.put("matrices.momentum", new Object[] {0, 0.5, 0.9});
        more.put("matrices.nesterov", new Object[] {true});
        more.put("matrices.coefficients", new Object[] {"convergent", "polar-express"});
        more.put("matrices.bf16", new Object[] {true});
        more.put("matrices.shape_factor", new Object[] {"tall", "spectral", "rms"});
        more.put("matrices.beta1", new Object[] {0, 0.8});
        more.put("matrices.beta2", new Object[] {0.5, 0.99});
        more.put("matrices.precondition_frequency", new Object[] {1, 3});
        more.put("matrices.decay", new Object[] {0, 0.5, 3});
        more.put("matrices.target_decay", new Object[] {0, 0.4});
        more.put("matrices.radius", new Object[] {0.5, 2});
        more.put("matrices.init", new Object[] {"zero"});
        more.put("matrices.zero_radius", new Object[] {1});
        more.put("matrices.view", new Object[] {"heads", "heads", "blocks:1x2", "blocks:2x1", "blocks:3x1"});
        more.put("matrices.schedule", new Object[] {"constant", "cosine", "trapezoid:0.3", "1-sqrt:0.5", "power:2"});
        more.put("matrices.warmup", new Object[] {0, 0.5});
        more.put("matrices.final_ratio", new Object[] {0.1, 1});
        more.put("matrices.gradient", new Object[] {"mode", "auto", "representative", "at-radius", "rescaled"});
        more.put("matrices.master", new Object[] {"float32", "auto"});
        more.put("matrices.grid", new Object[] {0, 8});
        more.put("matrices.placebo", new Object[] {1.1});
        more.put("matrices.proxy_growth", new Object[] {2});
        more.put("matrices.proxy_rate", new Object[] {50});
        more.put("matrices.groups", new Object[] {
            "{\"fc\":{\"rate\":0.03}}",
            "{\"q|k\":{\"mode\":\"hyperball\",\"policy\":\"none\"}}",
            "{\"blocks.0.*\":{\"direction\":\"adam\"}}",
            "{\"v\":{\"view\":\"heads\",\"decay\":0.2},\"*.proj.weight\":{\"init\":\"zero\",\"zero_radius\":1}}"
        });
        more.put("adamw.decay", new Object[] {0, 0.5});
        more.put("clip.norm", new Object[] {0.01, 0.5, 100});
        more.put("clip.value", new Object[] {0.001, 1});
        more.put("data.shuffle", new Object[] {true});
        more.forEach((key, values) -> {
            if (random.nextInt(10) == 0) {
                add(settings, key, values[random.nextInt(values.length)]);
            }
        });
        if (!mode.equals("hyperball") && random.nextInt(3) > 0) { // the norm of a Hyperball stays
            add(settings, "matrices.policy", policy(random));
        }
        return settings;
    }

    private static String mode(SplittableRandom random) {
        return any(random, Mode.values()).label();
    }

    /** A floor, a brake, a pinned norm, or some of them. */
    private static String policy(SplittableRandom random) {
        return String.join(
                "+",
                any(
                        random,
                        List.of("floor:" + any(random, 0.1, 0.5, 3.0)),
                        List.of("brake:" + any(random, 0, 0.5)),
                        List.of("pinned"),
                        List.of("floor:1", "brake:0.3", "pinned")));
    }

    private static String direction(SplittableRandom random) {
        return any(random, Directions.values()).label();
    }

    @SafeVarargs
    private static <T> T any(SplittableRandom random, T... of) {
        return of[random.nextInt(of.length)];
    }

    private static void add(List<String> settings, String key, Object value) {
        settings.add(key + "=" + value);
    }
}
