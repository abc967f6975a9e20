package hypertransfer.lab.certify;

import hypertransfer.core.Refusal;
import hypertransfer.lab.effective.Effective;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;

/**
 * A run's own log beside one that was made elsewhere, at the steps and matrices that both have.
 *
 * @param rows how many of these
 * @param effective the largest relative difference of effective rates
 * @param norms of norms
 * @param nominal of nominal rates; null where the log has none
 * @param first the first step whose effective rates differ by more than the bound; null where none does
 * @param where a matrix that differs there
 */
record LogCheck(
        String file,
        long rows,
        double effective,
        double norms,
        Double nominal,
        Integer first,
        String where,
        List<String> notes) {

    static LogCheck of(Run run, Path file, double bound) {
        Map<Integer, Line.Matrices> lines = new HashMap<>();
        List<String> names = run.provenance().matrices();
        run.matrices().lines(Line.Matrices.class).forEach(line -> lines.put(line.step(), line));
        double[] largest = new double[3];
        boolean[] rated = {false};
        long[] rows = {0, Long.MAX_VALUE};
        String[] where = {null};
        TreeSet<String> there = new TreeSet<>();
        Effective log = Effective.read(file, row -> {
            there.add(row.matrix());
            int k = names.indexOf(row.matrix());
            Line.Matrices own = row.step() > Integer.MAX_VALUE ? null : lines.get((int) row.step());
            if (k < 0 || own == null) {
                return;
            }
            rows[0]++;
            double apart = apart(own.effective()[k], row.effective());
            largest[0] = Math.max(largest[0], apart);
            largest[1] = Math.max(largest[1], apart(own.norm()[k], row.norm()));
            if (!Double.isNaN(row.rate())) {
                rated[0] = true;
                largest[2] = Math.max(largest[2], apart(own.rate()[k], row.rate()));
            }
            if (!(apart <= bound) && row.step() < rows[1]) {
                rows[1] = row.step();
                where[0] = row.matrix();
            }
        });
        if (rows[0] == 0) {
            throw new Refusal(
                    file + " has no step of a matrix that " + run.directory() + " has logged: its matrices are "
                            + there.first() + " to " + there.last() + ", those of the run " + names.getFirst() + " to "
                            + names.getLast());
        }
        List<String> notes = new ArrayList<>(log.notes());
        long missing = names.stream().filter(name -> !there.contains(name)).count();
        if (missing > 0) {
            notes.add(missing + " of the run's " + names.size() + " matrices are not in the log");
        }
        return new LogCheck(
                file.toString(),
                rows[0],
                largest[0],
                largest[1],
                rated[0] ? (Double) largest[2] : null,
                where[0] == null ? null : (Integer) (int) rows[1],
                where[0],
                notes);
    }

    private static double apart(double a, double b) {
        return a == b ? 0 : Math.abs(a - b) / Math.max(Math.abs(a), Math.abs(b));
    }

    /** What is the same beside the effective rates. */
    String map(double bound) {
        return norms <= bound && (nominal == null || nominal <= bound)
                ? "the same norms and rates"
                : "the same effective rates in another space, whose norms or nominal rates differ";
    }

    String text(double bound) {
        return String.format(
                Locale.ROOT,
                "%d rows of both logs; largest relative difference of effective rates %.2g, of norms %.2g, of nominal"
                        + " rates %s; the same below %.1g",
                rows,
                effective,
                norms,
                nominal == null ? "unknown" : String.format(Locale.ROOT, "%.2g", nominal),
                bound);
    }
}
