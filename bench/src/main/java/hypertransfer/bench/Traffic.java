package hypertransfer.bench;

import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Ownership;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.util.List;
import java.util.Locale;

/**
 * What ranks exchange in a step, and the share of the step's time that it is predicted to take; docs/USE.md has the
 * table. Assumed: every link is full-duplex and gives its nominal bandwidth times {@link #EFFICIENCY}; nothing overlaps
 * with computing; a rank has as many micro-batches as make a step of at least 524,288 tokens, and computes them at the
 * H200's measured speed; Newton-Schulz is divided by the number of ranks. Latency is left out, so at 1,024 ranks the
 * figures are a lower bound.
 */
public final class Traffic {
    private static final double EFFICIENCY = 0.8;
    private static final double NVLINK = 450e9; // bytes per second and direction, of a Hopper card
    private static final double NETWORK = 50e9; // 400 Gbit/s per card
    private static final int STEP_TOKENS = 524_288;

    private Traffic() {}

    /**
     * Measured on one H200, docs/RESULTS.md.
     *
     * @param micro seconds of one micro-batch
     * @param optimizer seconds of the optimizer in one process
     */
    private record Measured(Preset preset, int microTokens, double micro, double optimizer) {}

    /**
     * Bytes that one rank sends in a step.
     *
     * @param gradients float32, once per micro-batch of each rank, to the owners
     * @param weights bfloat16, to all others, once
     */
    record Bytes(double gradients, double weights) {
        static Bytes of(Architecture architecture, int ranks, int rounds) {
            double parameters = architecture.parameters();
            double others = (ranks - 1.0) / ranks;
            return new Bytes(4 * parameters * others * rounds, 2 * parameters * others);
        }

        double total() {
            return gradients + weights;
        }
    }

    public static void main(String[] arguments) {
        System.out.println("| network | ranks | micro-batches per rank | sent per rank and step | NVLink | 400 Gbit/s"
                + " | Newton-Schulz |");
        System.out.println("|---|---|---|---|---|---|---|");
        for (Measured m : List.of(
                new Measured(Preset.GPT2_124M, 65_536, 0.110, 0.0065),
                new Measured(Preset.DENSE_500M, 32_768, 0.217, 0.0346))) {
            for (int ranks : new int[] {8, 64, 1024}) {
                System.out.println(line(m, ranks));
            }
        }
    }

    private static String line(Measured m, int ranks) {
        Architecture architecture = m.preset.architecture(Variant.M1);
        int sequence = architecture.sequence();
        int tokens = Math.max(STEP_TOKENS, ranks * sequence); // a rank has at least one sequence
        int micro = Math.min(m.microTokens, tokens / ranks), rounds = tokens / ranks / micro;
        Bytes bytes = Bytes.of(architecture, ranks, rounds);
        double compute = rounds * m.micro * micro / m.microTokens + m.optimizer / ranks;
        List<Outline> outlines = architecture.outlines();
        long hidden = outlines.stream().filter(Outline::hidden).count();
        String balance = ranks > hidden
                ? "refused: " + hidden + " matrices"
                : Ownership.of(outlines, ranks).balance().replaceAll(".*busiest has ([0-9.]+) times.*", "$1 x mean");
        return String.format(
                Locale.ROOT,
                "| %s | %,d | %d of %,d tokens | %.2f GB gradients, %.2f GB weights | %.1f%% | %.1f%% | %s |",
                m.preset.label(),
                ranks,
                rounds,
                micro,
                bytes.gradients / 1e9,
                bytes.weights / 1e9,
                100 * share(bytes.total() / (EFFICIENCY * NVLINK), compute),
                100 * share(bytes.total() / (EFFICIENCY * NETWORK), compute),
                balance);
    }

    private static double share(double exchange, double compute) {
        return exchange / (exchange + compute);
    }
}
