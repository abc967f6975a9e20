package hypertransfer.lab.answer;

import hypertransfer.prediction.Prediction;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Tail;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;

/**
 * A prediction beside the run it was made for: relative errors, root mean square.
 *
 * @param steps how many were logged
 * @param effective over steps and matrices
 * @param endNorm of the norm at the last logged step, over matrices
 * @param endToPeak the run's last effective rate over its largest, mean over matrices
 * @param predictedEndToPeak the same as predicted
 */
public record Measured(
        int steps, int matrices, double effective, double endNorm, double endToPeak, double predictedEndToPeak) {
    /**
     * Nothing if the run has not logged a step.
     *
     * @param told what could not be read
     */
    public static Optional<Measured> of(Path run, Configuration c, List<Kind> kinds, Consumer<String> told) {
        Map<Integer, Line.Matrices> logged = new TreeMap<>();
        Tail lines = new Run(run).matrices();
        lines.lines(Line.Matrices.class).forEach(m -> logged.put(m.step(), m));
        lines.tell(told);
        List<String> names = new Run(run).provenance().matrices();
        if (logged.isEmpty()) {
            return Optional.empty();
        }
        int last = logged.keySet().stream().max(Integer::compare).orElseThrow();
        double squares = 0;
        int compared = 0;
        double norms = 0;
        double ended = 0;
        double predictedEnded = 0;
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            Kind kind = kinds.stream().filter(k -> k.has(name)).findFirst().orElseThrow();
            Prediction carrier = kind.carrier();
            double[] effective = carrier.effective();
            double peak = 0;
            double predictedPeak = 0;
            for (Map.Entry<Integer, Line.Matrices> line : logged.entrySet()) {
                double real = line.getValue().effective()[i];
                peak = Math.max(peak, real);
                predictedPeak = Math.max(predictedPeak, effective[line.getKey()]);
                if (real > 0) {
                    squares += square(effective[line.getKey()] / real - 1);
                    compared++;
                }
            }
            norms += square(carrier.norm()[last] / logged.get(last).norm()[i] - 1);
            ended += logged.get(last).effective()[i] / peak / names.size();
            predictedEnded += effective[last] / predictedPeak / names.size();
        }
        return Optional.of(new Measured(
                logged.size(),
                names.size(),
                Math.sqrt(squares / compared),
                Math.sqrt(norms / names.size()),
                ended,
                predictedEnded));
    }

    private static double square(double x) {
        return x * x;
    }
}
