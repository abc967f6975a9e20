package hypertransfer.lab.predict;

import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Tail;
import hypertransfer.train.log.Turning;
import hypertransfer.train.network.Outline;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
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
record Measured(
        int steps, int matrices, double effective, double endNorm, double endToPeak, double predictedEndToPeak) {
    /**
     * Nothing if the run has not logged a step.
     *
     * @param told what could not be read
     */
    static Optional<Measured> of(Path run, List<PredictedKind> kinds, Consumer<String> told) {
        NavigableMap<Integer, Line.Matrices> logged = new TreeMap<>();
        Tail lines = new Run(run).matrices();
        lines.lines(Line.Matrices.class).forEach(m -> logged.put(m.step(), m));
        lines.tell(told);
        if (logged.isEmpty()) {
            return Optional.empty();
        }
        Map<String, PredictedKind> kindOf = new HashMap<>();
        kinds.forEach(kind -> kind.matrices().stream().map(Outline::name).forEach(name -> kindOf.put(name, kind)));
        List<String> names = new Run(run).provenance().matrices();
        int last = logged.lastKey(), compared = 0;
        double squares = 0, norms = 0, predictedEnded = 0;
        for (int i = 0; i < names.size(); i++) {
            var carrier = kindOf.get(names.get(i)).carrier();
            double[] effective = carrier.effective();
            double predictedPeak = 0;
            for (Line.Matrices line : logged.values()) {
                double real = line.effective()[i], predicted = effective[line.step()];
                predictedPeak = Math.max(predictedPeak, predicted);
                if (real > 0) {
                    squares += square(predicted / real - 1);
                    compared++;
                }
            }
            norms += square(carrier.norm()[last] / logged.get(last).norm()[i] - 1);
            predictedEnded += effective[last] / predictedPeak;
        }
        int n = names.size();
        double endToPeak = Turning.of(new Run(run)).finalToPeak();
        return Optional.of(new Measured(
                logged.size(), n, Math.sqrt(squares / compared), Math.sqrt(norms / n), endToPeak, predictedEnded / n));
    }

    private static double square(double x) {
        return x * x;
    }

    String text() {
        return String.format(
                "this run against its prediction: effective rate %.1f %% rms over %d steps and %d matrices, norm at the"
                        + " end %.1f %%, end/peak %.4f (predicted %.4f)",
                100 * effective, steps, matrices, 100 * endNorm, endToPeak, predictedEndToPeak);
    }
}
