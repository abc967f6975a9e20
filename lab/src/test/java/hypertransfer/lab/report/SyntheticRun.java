package hypertransfer.lab.report;

import hypertransfer.core.Rates;
import hypertransfer.core.Schedule;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.optimizer.View;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * A run's directory as the trainer leaves it, with numbers of the size that training gives: the loss falls from ln 256, the
 * norm of a Base matrix follows the paper's recursion, and a follower stays near its target.
 */
final class SyntheticRun {
    private static final JsonMapper JSON = JsonMapper.shared();
    private static final String[] SERIES = {"norm", "target_norm", "rate", "effective", "angle", "implied_decay"};
    private static final int VALIDATE = 10, LOG = 5;

    final Path directory;
    final Configuration configuration;
    final List<String> matrices;
    final List<String> metricLines = new ArrayList<>();
    final List<String> matrixLines = new ArrayList<>();
    private final boolean hyperball;
    private int writtenMetrics;
    private int writtenMatrices;

    /** A run in a new directory with these settings; {@code gap} is how far its losses stray from the smooth curve. */
    SyntheticRun(Path directory, double gap, String... settings) {
        this.directory = directory;
        this.configuration = ConfigurationFile.of(settings);
        String mode = configuration.matrices().mode().label();
        // The curve is the target's: a Hyperball's own, or one that follows it.
        this.hyperball = mode.equals("hyperball") || mode.startsWith("inverse");
        boolean carrierBall = mode.equals("hyperball") || mode.startsWith("hypertransfer");
        this.matrices = IntStream.range(0, configuration.model().layers())
                .boxed()
                .flatMap(l -> Arrays.stream("attn.q attn.k attn.v attn.o mlp.fc mlp.proj".split(" "))
                        .map(kind -> "blocks." + l + "." + kind + ".weight"))
                .flatMap(this::parts)
                .toList();
        invent(new Random(7), new Random(directory.getFileName().toString().hashCode()), gap, carrierBall);
    }

    /** Of attention, the heads where these count as matrices. */
    private Stream<String> parts(String matrix) {
        boolean heads = configuration.matrices().view().kind() == View.Kind.HEADS && matrix.contains(".attn.");
        int count = configuration.model().width() / configuration.model().head();
        return heads ? IntStream.range(0, count).mapToObj(k -> View.part(matrix, k)) : Stream.of(matrix);
    }

    private void invent(Random shared, Random own, double gap, boolean carrierBall) {
        int steps = configuration.steps(), count = matrices.size();
        double decay = configuration.matrices().decay();
        Schedule schedule = configuration.matrices().schedule(configuration.steps()),
                adam = configuration.adamw().schedule(configuration.steps());
        double[] start = new double[count], base = new double[count], norm = new double[count];
        for (int m = 0; m < count; m++) {
            start[m] = base[m] = norm[m] = 11 * (1 + 0.02 * shared.nextGaussian());
        }
        for (int t = 0; t <= steps; t++) {
            double floor = hyperball ? 1.52 : 1.58, speed = hyperball ? 22.0 : 30.0;
            double curve = floor
                    + (5.545 - floor) / (1 + speed * t / steps)
                    + gap * own.nextGaussian() * Math.min(1, t / 20.0);
            if (t % VALIDATE == 0 || t == steps) {
                metricLines.add(object().put("step", t)
                        .put("validation", curve + 0.03 * t / steps)
                        .toString());
            }
            double noise = 0.04 * shared.nextGaussian();
            if (t == steps) {
                break;
            }
            metricLines.add(object().put("step", t)
                    .put("loss", curve + (t == 0 ? 0 : noise))
                    .put("rate", schedule.rate(t))
                    .put("adam_rate", adam.rate(t))
                    .put("tokens", (t + 1) * configuration.tokensPerStep())
                    .put("seconds", (t == 0 ? 0.31 : 0.042) * (1 + 0.05 * own.nextDouble()))
                    .toString());
            double[] target = new double[count], carrier = new double[count], rate = new double[count];
            double[] effective = new double[count], implied = new double[count];
            for (int m = 0; m < count; m++) {
                double eta = schedule.rate(t), u = 9.6 + 0.4 * (m % 6) + 0.2 * (m / 6);
                target[m] = hyperball ? start[m] : base[m] * (1 + gap * own.nextGaussian());
                carrier[m] = carrierBall ? start[m] : norm[m];
                effective[m] = hyperball ? eta : Rates.effective(eta, decay, u, target[m]);
                rate[m] = carrierBall ? effective[m] : Rates.fair(effective[m], decay, u, carrier[m]);
                implied[m] = carrierBall ? effective[m] / 2 : decay * rate[m] / effective[m];
                norm[m] = grown(norm[m], rate[m], u, decay);
                base[m] = grown(base[m], eta, u, decay);
            }
            if (t % LOG == 0 || t == steps - 1) {
                double[] angle = Arrays.stream(effective).map(Math::atan).toArray();
                double[][] series = {carrier, target, rate, effective, angle, implied};
                ObjectNode line = object().put("step", t);
                for (int k = 0; k < series.length; k++) {
                    line.set(SERIES[k], JSON.valueToTree(series[k]));
                }
                matrixLines.add(line.toString());
            }
        }
    }

    /** Updates turn around: their correlation makes the norm grow faster than a random walk's. */
    private static double grown(double norm, double rate, double u, double decay) {
        return Math.sqrt(Math.pow((1 - rate * decay) * norm, 2) + 2 * Math.sqrt(rate) * rate * u * u);
    }

    private static ObjectNode object() {
        return JSON.createObjectNode();
    }

    SyntheticRun finished() throws IOException {
        return begin().append(metricLines.size(), matrixLines.size()).state("finished");
    }

    SyntheticRun begin() throws IOException {
        Files.createDirectories(directory);
        Files.writeString(directory.resolve("config.yaml"), ConfigurationFile.write(configuration));
        ObjectNode provenance = object().put("version", "0.1.0")
                .put("commit", "a2c372e")
                .put("jdk", "25.0.1+8")
                .put("os", "Linux 6.1 amd64")
                .put("machine", "EPYC 9554")
                .put("cores", 8)
                .put("engine", "cpu")
                .put("started", "2026-11-15T12:00:00Z")
                .put("parameters", 852_480);
        provenance.set("matrices", JSON.valueToTree(matrices));
        Files.writeString(directory.resolve("provenance.json"), provenance.toString());
        Files.writeString(directory.resolve("metrics.jsonl"), "");
        Files.writeString(directory.resolve("matrices.jsonl"), "");
        writtenMetrics = writtenMatrices = 0;
        return state("running");
    }

    /** Brings the files up to so many lines; to fewer, as a resumed run does. */
    SyntheticRun append(int metrics, int logged) throws IOException {
        writtenMetrics = write("metrics.jsonl", metricLines, writtenMetrics, metrics);
        writtenMatrices = write("matrices.jsonl", matrixLines, writtenMatrices, logged);
        return this;
    }

    private int write(String file, List<String> lines, int from, int to) throws IOException {
        if (to < from) {
            Files.writeString(directory.resolve(file), text(lines.subList(0, to)));
        } else {
            Files.writeString(directory.resolve(file), text(lines.subList(from, to)), StandardOpenOption.APPEND);
        }
        return to;
    }

    SyntheticRun state(String state) throws IOException {
        Path beside = directory.resolve("state.json.part");
        ObjectNode node = object().put("state", state).put("step", configuration.steps());
        Files.writeString(beside, node.put("steps", configuration.steps()).toString());
        Files.move(beside, directory.resolve("state.json"), StandardCopyOption.REPLACE_EXISTING);
        return this;
    }

    private static String text(List<String> lines) {
        return lines.stream().map(line -> line + "\n").collect(Collectors.joining());
    }

    /** The last value that lines of metrics have of something. */
    static double last(List<String> lines, String key) {
        JsonNode line = lines.stream()
                .map(JSON::readTree)
                .filter(l -> l.has(key))
                .toList()
                .getLast();
        return line.path(key).doubleValue();
    }

    /** Muon and MuonH, and the run that follows each: what {@code ht demo} leaves for one network. */
    static List<SyntheticRun> pairs(Path root, int steps) throws IOException {
        return List.of(
                of(root, "muon", steps, 0, "base", 0.02),
                of(root, "muonh", steps, 0, "hyperball", 0.015),
                of(root, "hypertransfer", steps, 4e-4, "hypertransfer", 0.02, "target=" + root.resolve("muon")),
                of(root, "inverse", steps, 4e-4, "inverse-hypertransfer", 0.015, "target=../muonh"));
    }

    private static SyntheticRun of(
            Path root, String name, int steps, double gap, String mode, double rate, String... target)
            throws IOException {
        Stream<String> common = Stream.of(
                "steps=" + steps, "matrices.final_ratio=0.1", "matrices.mode=" + mode, "matrices.rate=" + rate);
        String[] settings = Stream.concat(common, Stream.of(target)).toArray(String[]::new);
        return new SyntheticRun(root.resolve(name), gap, settings).finished();
    }
}
