package hypertransfer.lab.effective;

import hypertransfer.core.Refusal;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * The effective rates of a run that was logged elsewhere.
 *
 * @param matrices one summary per matrix, in the order of the log
 * @param all the one Hyperball schedule for all matrices; null where fewer than three rates are above zero
 * @param notes what the log did not say, and what was taken instead
 * @param problems rows that were left out, by line and column
 * @param leftOut how many
 */
public record Effective(
        List<Summary> matrices, Fit all, List<String> notes, List<String> problems, long rows, long leftOut) {
    /**
     * @param restNorm where its norm would come to rest, from the last tenth of the log; null where decay is unknown or 0
     * @param impliedDecay rate * decay / effective over the last tenth: what a Hyperball's projection would amount to, or NaN
     * @param hyperball the Hyperball schedule that does the same; null where fewer than three rates are above zero
     * @param gaps places where steps are missing, and the step before the first, -1 if there is none
     */
    record Summary(
            String matrix,
            long steps,
            double firstNorm,
            double lastNorm,
            double peakEffective,
            long peakStep,
            double endEffective,
            double endToPeak,
            Double restNorm,
            double impliedDecay,
            Fit hyperball,
            long gaps,
            long firstGap) {}

    /** One row: a matrix at a step; what the log does not say is NaN. */
    public record Row(
            long step, String matrix, double norm, double effective, double angle, double impliedDecay, double rate) {}

    public static Effective read(Path file, Consumer<Row> rowByRow) {
        LogReader log = new LogReader(file);
        Map<String, Curve> curves = new LinkedHashMap<>();
        long[] rows = {0};
        boolean[] undecayed = {false};
        log.read(row -> {
            rows[0]++;
            undecayed[0] |= take(row, curves, log, rowByRow);
        });
        Set<String> columns = log.columns;
        if (!columns.isEmpty()) {
            require(file, columns);
        }
        if (curves.isEmpty()) {
            throw new Refusal(file + " has no usable row: "
                    + (log.leftOut == 0 ? "it has no rows" : String.join("; ", log.problems)));
        }
        List<Summary> summaries = curves.values().stream().map(Curve::summary).toList();
        long horizon = curves.values().stream().mapToLong(Curve::horizon).max().orElseThrow();
        Fit all = Fit.of(
                curves.values().stream().map(Curve::points).toList(),
                horizon,
                summaries.stream().map(Summary::peakStep).distinct().toList());
        return new Effective(
                summaries, all, notes(columns, summaries, undecayed[0]), log.problems, rows[0], log.leftOut);
    }

    /** One row into its curve; true where the decay's part was taken as zero. */
    private static boolean take(LogReader.Row row, Map<String, Curve> curves, LogReader log, Consumer<Row> rowByRow) {
        double norm = row.number("weight_norm");
        double rate = row.number("rate");
        double direction = row.number("direction_norm");
        double update = row.has("update_norm") ? row.number("update_norm") : rate * direction;
        double taken = rate * row.number("decay");
        boolean undecayed = Double.isNaN(taken);
        double kept = undecayed ? 1 : 1 - taken;
        BiConsumer<String, String> leave = (column, what) -> log.leaveOut(row.line(), column, row.matrix() + what);
        if (!(norm > 0 && norm < Double.POSITIVE_INFINITY)) {
            leave.accept("weight_norm", " has " + norm + ", and only a norm above zero has a direction");
            return false;
        }
        if (!(update >= 0 && update < Double.POSITIVE_INFINITY)) {
            String column = row.has("update_norm")
                    ? "update_norm"
                    : direction >= 0 && direction < Double.POSITIVE_INFINITY ? "rate" : "direction_norm";
            leave.accept(column, " has " + row.number(column) + ", no finite number of zero or more");
            return false;
        }
        if (!(kept > 0)) {
            leave.accept("decay", ": rate times decay is " + taken + ", and at 1 the matrix is erased");
            return false;
        }
        Curve curve = curves.computeIfAbsent(row.matrix(), Curve::new);
        if (row.step() <= curve.lastStep()) {
            boolean twice = row.step() == curve.lastStep();
            String why = twice ? " is there twice" : " comes after step " + curve.lastStep();
            log.leaveOut(row.line(), LogReader.STEP, "step " + row.step() + " of " + row.matrix() + why);
            return false;
        }
        double effective = update / (kept * norm); // Rates.effective, whose eta |u| is the update
        double implied = undecayed || effective == 0 ? Double.NaN : taken / effective;
        curve.add(row.step(), norm, effective, kept, implied);
        double angle = angle(row, effective, update, norm);
        rowByRow.accept(new Row(row.step(), row.matrix(), norm, effective, angle, implied, rate));
        return undecayed;
    }

    /** The angle that the matrix turns by, where the inner product is known. */
    private static double angle(LogReader.Row row, double a, double update, double norm) {
        double direction = row.has("direction_norm") ? row.number("direction_norm") : update / row.number("rate");
        double inner = row.number("inner_product");
        if (!(direction > 0) || Double.isNaN(inner)) {
            return Double.NaN;
        }
        double cos = Math.clamp(inner / direction / norm, -1, 1);
        return Math.atan2(a * Math.sqrt((1 - cos) * (1 + cos)), 1 - a * cos);
    }

    private static void require(Path file, Set<String> columns) {
        List<String> missing = new ArrayList<>(List.of(LogReader.STEP, "weight_norm"));
        missing.removeAll(columns);
        if (!columns.contains("update_norm") && !(columns.contains("direction_norm") && columns.contains("rate"))) {
            missing.add("update_norm (or direction_norm and rate)");
        }
        if (!missing.isEmpty()) {
            throw new Refusal(file + " has no column " + String.join(", no column ", missing) + "; it has "
                    + String.join(", ", columns) + "; 'ht effective --help' explains the columns");
        }
    }

    private static List<String> notes(Set<String> columns, List<Summary> summaries, boolean undecayed) {
        List<String> notes = new ArrayList<>();
        if (undecayed) {
            String without = columns.contains("decay")
                    ? columns.contains("rate") ? "some cells of rate or decay" : "rate"
                    : "decay";
            notes.add("without " + without + " weight decay is taken as 0: effective rates are too low by the factor"
                    + " 1 - rate * decay, and rest and implied decay are unknown");
        }
        if (!columns.contains("inner_product")) {
            notes.add("without inner_product the angle of a step is not exact; effective rates are");
        }
        long most = summaries.stream().mapToLong(Summary::steps).max().orElseThrow();
        List<String> fewer = summaries.stream()
                .filter(s -> s.steps < most)
                .map(s -> s.matrix + " (" + s.steps + ")")
                .toList();
        if (!fewer.isEmpty()) {
            notes.add("the longest matrices have " + most + " steps; fewer have "
                    + String.join(", ", fewer.subList(0, Math.min(8, fewer.size())))
                    + (fewer.size() > 8 ? " and " + (fewer.size() - 8) + " more" : ""));
        }
        summaries.stream()
                .filter(s -> s.gaps > 0)
                .limit(5)
                .forEach(s -> notes.add(s.matrix + " has " + s.gaps + (s.gaps == 1 ? " gap" : " gaps")
                        + " between its steps, the first after step " + s.firstGap));
        return notes;
    }
}
