package hypertransfer.bench;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Our cpu engine and libtorch on the same machine, the same threads, in turns: {@code THREADS ROUNDS SECONDS PRESET...}.
 * Each turn is a JVM of its own; of the rounds the medians are printed, beside the best of libtorch's, with the share of
 * the machine's sgemm rate that our step reaches.
 */
final class SideBySide {
    /** Without these libtorch gives its memory back after every step and faults it in again: it loses a tenth. */
    private static final String KEEP = "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=17179869184"
            + ":glibc.malloc.trim_threshold=17179869184:glibc.malloc.top_pad=268435456";

    /** How libtorch may be run; which is best depends on the sizes. */
    private enum Peer {
        /** Each operation on all threads. */
        OPERATIONS("torch", KEEP),
        /** Each thread its own sequences, then its own parameters. */
        SHARES("torch-workers", KEEP),
        /** The same with one heap, the only one that keeps pieces beyond 64 MB, and for which threads must wait. */
        SHARES_ONE_HEAP("torch-workers", KEEP + ":glibc.malloc.arena_max=1");
        private final String side, tunables;

        Peer(String side, String tunables) {
            this.side = side;
            this.tunables = tunables;
        }
    }

    private record Turns(String name, List<double[]> turns) {
        Turns(String name) {
            this(name, new ArrayList<>());
        }

        double median(int part) {
            return SideBySide.median(turns.stream().map(t -> t[part]).toList());
        }

        double step() {
            return median(0) + median(1);
        }
    }

    private SideBySide() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        String threads = args[0], seconds = args[2];
        int rounds = Integer.parseInt(args[1]);
        System.setProperty("ht.threads", threads);
        System.out.println("preset  net   ours tok/s  torch tok/s  ratio  ratio of cpu time   GFLOP/s  of sgemm");
        for (String name : Arrays.asList(args).subList(3, args.length)) {
            Preset preset = Preset.parse(name);
            for (Variant variant : Variant.values()) {
                Architecture a = preset.architecture(variant);
                Turns ours = new Turns("ours");
                List<Turns> peers = Arrays.stream(Peer.values())
                        .map(p -> new Turns(p.name()))
                        .toList();
                List<Double> ceilings = new ArrayList<>();
                for (int round = 0; round < rounds; round++) {
                    ours.turns().add(child(threads, KEEP, threads, "cpu", name, variant.name(), seconds));
                    for (Peer p : Peer.values()) {
                        String each = p == Peer.OPERATIONS ? threads : "1";
                        peers.get(p.ordinal())
                                .turns()
                                .add(child(threads, p.tunables, each, p.side, name, variant.name(), seconds));
                    }
                    ceilings.add(ceiling());
                }
                Turns best = peers.stream()
                        .min(Comparator.comparingDouble(Turns::step))
                        .orElseThrow();
                int N = preset.batch() * a.sequence();
                double rate = flops(a, N) / ours.step() / 1e6, ceiling = median(ceilings);
                System.out.printf(
                        Locale.ROOT,
                        "%-6s  %s  %11.0f  %11.0f  %5.2f  %17.2f  %8.1f  %7.0f%%%n",
                        name,
                        variant,
                        1000 * N / ours.step(),
                        1000 * N / best.step(),
                        best.step() / ours.step(),
                        best.median(2) / ours.median(2),
                        rate,
                        100 * rate / ceiling);
                Stream.concat(Stream.of(ours), peers.stream())
                        .forEach(t -> System.out.printf(
                                Locale.ROOT, "    %-16s %6.0f + %5.0f ms%n", t.name(), t.median(0), t.median(1)));
            }
        }
    }

    private static double[] child(String threads, String tunables, String each, String... args)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(
                List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString()));
        command.addAll(List.of("--add-modules", "jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"));
        command.addAll(List.of("-Dht.threads=" + threads, "-Dai.djl.pytorch.num_threads=" + each));
        command.addAll(List.of("-Dai.djl.offline=true", "-cp", System.getProperty("java.class.path")));
        command.add(Child.class.getName());
        command.addAll(List.of(args));
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD);
        builder.environment()
                .putAll(Map.of(
                        "GLIBC_TUNABLES",
                        tunables,
                        "THP_MEM_ALLOC_ENABLE",
                        "1",
                        "LRU_CACHE_CAPACITY",
                        "1024",
                        "OMP_NUM_THREADS",
                        each));
        Process process = builder.start();
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new IOException(String.join(" ", command) + " failed: " + out);
        }
        String line = out.lines().filter(l -> l.startsWith("ms ")).findFirst().orElseThrow();
        return Arrays.stream(line.substring(3).split(" "))
                .mapToDouble(Double::parseDouble)
                .toArray();
    }

    /** What a step must compute: three products for each matrix, half of attention's squares, Newton-Schulz in full. */
    private static double flops(Architecture a, double N) {
        double C = a.width(), L = a.layers();
        double products = 6 * N * (12 * L * C * C + a.vocab() * C);
        double attention = 6 * L * N * a.sequence() * C;
        return products + attention + 300 * L * C * C * C;
    }

    /** GFLOP/s of a large product with all threads, the best of a few. */
    private static double ceiling() {
        int n = 1024;
        try (Engine engine = Engines.open("cpu", new Dims(1, n, n, 2, 1))) {
            Tensor x = engine.tensor(Role.ACTIVATION, "x", n, n);
            Tensor w = engine.tensor(Role.ACTIVATION, "w", n, n);
            Tensor y = engine.tensor(Role.ACTIVATION, "y", n, n);
            engine.commit();
            double best = 0;
            for (int i = 0; i < 20; i++) {
                long start = System.nanoTime();
                engine.layers().product(x, w, y);
                best = Math.max(best, 2.0 * n * n * n / (System.nanoTime() - start));
            }
            return best;
        }
    }

    private static double median(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        return (sorted.get((sorted.size() - 1) / 2) + sorted.get(sorted.size() / 2)) / 2;
    }
}
