package hypertransfer.bench;

import hypertransfer.core.Mode;
import hypertransfer.lab.experiment.Workload;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.IntStream;

/** What a step of HyperTransfer costs beside one of Muon, step by step in turns: {@code ENGINE PRESET STEPS}. */
final class TransferCost {
    private TransferCost() {}

    public static void main(String[] args) {
        Preset preset = Preset.parse(args[1]);
        int steps = Integer.parseInt(args[2]);
        List<Workload.Times> base = new ArrayList<>(), transfer = new ArrayList<>();
        try (Workload muon = Workload.of(preset, Variant.M1, args[0], Mode.BASE);
                Workload hyper = Workload.of(preset, Variant.M1, args[0], Mode.HYPERTRANSFER)) {
            for (int t = 0; t < 2 * steps; t++) { // the first half warms up
                if (t == steps) {
                    base.clear();
                    transfer.clear();
                }
                base.add(muon.step());
                transfer.add(hyper.step());
            }
        }
        double[] ratios = IntStream.range(0, steps)
                .mapToDouble(t -> transfer.get(t).ms() / base.get(t).ms())
                .sorted()
                .toArray();
        System.out.printf(
                Locale.ROOT,
                "%s on %s: Muon %.2f ms, HyperTransfer %.2f ms; the median of %d neighbours' ratios is %+.2f%%%n",
                args[1],
                args[0],
                Child.median(base, Workload.Times::ms),
                Child.median(transfer, Workload.Times::ms),
                steps,
                100 * ((ratios[(steps - 1) / 2] + ratios[steps / 2]) / 2 - 1));
    }
}
