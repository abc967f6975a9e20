package hypertransfer.bench;

import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.run.Trainee;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * What the optimizer's step of each direction costs beside Muon's, step by step in turns, on one thread: {@code PRESET
 * STEPS DIRECTION...}, such as {@code small 10 lion soap,largest_side=256}. It counts processor time, which other programs disturb less than the clock. A number of steps that SOAP's
 * frequency divides counts its turns of the bases in.
 */
final class DirectionCost {
    private DirectionCost() {}

    private record Subject(Trainee trainee, int[] tokens) implements AutoCloseable {
        static Subject of(String preset, String direction) {
            List<String> settings = new ArrayList<>(List.of("preset=" + preset, "engine=cpu", "model.accumulation=1"));
            // the optimizer does not see how many tokens there are
            settings.addAll(List.of("model.batch=1", "model.sequence=16"));
            for (String key : ("direction=" + direction).split(",")) {
                settings.add("matrices." + key);
            }
            Trainee trainee = Trainee.open(ConfigurationFile.of(settings.toArray(String[]::new)), Map.of());
            return new Subject(trainee, new int[trainee.engine().dims().N()]);
        }

        double milliseconds() {
            trainee.network().gradient(tokens, tokens, 0);
            long before = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            trainee.optimizer().step(1e-3, 1e-3);
            return (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - before) / 1e6;
        }

        @Override
        public void close() {
            trainee.close();
        }
    }

    public static void main(String[] args) {
        System.setProperty("ht.threads", "1");
        int steps = Integer.parseInt(args[1]);
        List<String> directions = Arrays.asList(args).subList(2, args.length);
        for (String direction : directions) {
            try (Subject muon = Subject.of(args[0], "muon");
                    Subject other = Subject.of(args[0], direction)) {
                double own = 0, usual = 0;
                for (int t = -1; t < steps; t++) { // the first step of SOAP makes its bases
                    double first = muon.milliseconds(), second = other.milliseconds();
                    usual += t < 0 ? 0 : first;
                    own += t < 0 ? 0 : second;
                }
                System.out.printf(
                        Locale.ROOT,
                        "%-8s %8.1f ms, muon %8.1f ms, ratio %.3f%n",
                        direction,
                        own / steps,
                        usual / steps,
                        own / usual);
            }
        }
    }
}
