package hypertransfer.bench;

import com.sun.management.OperatingSystemMXBean;
import hypertransfer.lab.experiment.Workload;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

/** One side of a comparison in a JVM of its own: {@code ENGINE|torch|torch-workers PRESET M1|M2 SECONDS}; prints the medians of a step's
 * two parts and the processor time of a step. */
final class Child {
    private Child() {}

    public static void main(String[] args) {
        Preset preset = Preset.parse(args[1]);
        Variant network = Variant.valueOf(args[2]);
        double seconds = Double.parseDouble(args[3]);
        if (args[0].startsWith("torch")) {
            int workers = args[0].equals("torch") ? 1 : Integer.getInteger("ht.threads");
            try (TorchWorkload torch = new TorchWorkload(preset.architecture(network), preset.batch(), workers)) {
                print(torch::step, seconds);
            }
        } else {
            try (Workload ours = ours(preset, network, args[0])) {
                print(ours::step, seconds);
            }
        }
    }

    private static Workload ours(Preset preset, Variant network, String engine) {
        return new Workload(ConfigurationFile.of(
                "preset=" + preset.label(), "network=" + network, "engine=" + engine, "model.accumulation=1"));
    }

    private static void print(Supplier<Workload.Times> step, double seconds) {
        run(step, seconds / 2);
        long before = processor();
        List<Workload.Times> times = run(step, seconds);
        double processor = (processor() - before) / 1e6 / times.size();
        System.out.println("ms " + median(times, Workload.Times::microMs) + " "
                + median(times, Workload.Times::optimizerMs) + " " + processor);
    }

    private static List<Workload.Times> run(Supplier<Workload.Times> step, double seconds) {
        List<Workload.Times> times = new ArrayList<>();
        long end = System.nanoTime() + (long) (1e9 * seconds);
        while (System.nanoTime() < end || times.size() < 3) {
            times.add(step.get());
        }
        return times;
    }

    /** What all threads have worked: tells more than the clock where others use the machine. */
    private static long processor() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    static double median(List<Workload.Times> times, ToDoubleFunction<Workload.Times> part) {
        double[] sorted = times.stream().mapToDouble(part).sorted().toArray();
        return (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
    }
}
