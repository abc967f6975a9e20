package hypertransfer.lab.certify;

import hypertransfer.core.Refusal;
import hypertransfer.lab.effective.Effective;
import hypertransfer.train.log.Line;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

/** A run's own log beside one that was made elsewhere, at the steps and matrices that both have. */
final class Logs {
    private final List<String> names;
    private final Map<Integer, Line.Matrices> lines = new HashMap<>();
    private final TreeSet<String> there = new TreeSet<>();
    private final double bound;
    private long rows;
    private double rates;
    private double norms;
    private Double nominal;
    private int first = Integer.MAX_VALUE;
    private String where;

    private Logs(Side ours, double bound) {
        names = ours.run().provenance().matrices();
        ours.run().matrices().lines(Line.Matrices.class).forEach(line -> lines.put(line.step(), line));
        this.bound = bound;
    }

    /** The effective rates decide; norms and nominal rates may be those of another space. */
    static Certificate of(Side ours, Path file, double bound) {
        Logs logs = new Logs(ours, bound);
        Effective log = Effective.read(file, logs::add);
        if (logs.rows == 0) {
            throw new Refusal(file + " has no step of a matrix that " + ours.place() + " has logged: its matrices are "
                    + logs.there.first() + " to " + logs.there.last() + ", those of the run " + logs.names.getFirst()
                    + " to " + logs.names.getLast());
        }
        List<String> notes = new ArrayList<>(log.notes());
        notes.add("only what the log has was compared: effective rates, norms and nominal rates; losses, gradients and"
                + " data were not");
        long missing =
                logs.names.stream().filter(name -> !logs.there.contains(name)).count();
        if (missing > 0) {
            notes.add(missing + " of the run's " + logs.names.size() + " matrices are not in the log");
        }
        var draft =
                new Certificate.Draft(ours.place(), file.toString(), Certificate.settings(ours, ours), notes, bound);
        return logs.certificate(draft);
    }

    private void add(Effective.Row row) {
        there.add(row.matrix());
        int k = names.indexOf(row.matrix());
        Line.Matrices own = row.step() > Integer.MAX_VALUE ? null : lines.get((int) row.step());
        if (k < 0 || own == null) {
            return;
        }
        rows++;
        double apart = Check.apart(own.effective()[k], row.effective());
        rates = Math.max(rates, apart);
        norms = Math.max(norms, Check.apart(own.norm()[k], row.norm()));
        if (!Double.isNaN(row.rate())) {
            nominal = Math.max(nominal == null ? 0 : nominal, Check.apart(own.rate()[k], row.rate()));
        }
        if (!(apart <= bound) && row.step() < first) {
            first = own.step();
            where = row.matrix();
        }
    }

    private Certificate certificate(Certificate.Draft draft) {
        Integer step = where == null ? null : (Integer) first;
        Check check = new Check(rows + " rows of both logs", rows, false, null, rates, norms, nominal, step, null);
        if (where != null) {
            return draft.different(first, "the effective rates of " + where + " differ", check);
        }
        boolean own = norms <= bound && (nominal == null || nominal <= bound);
        String map = own
                ? "the same norms and rates"
                : "the same effective rates in another space, whose norms or nominal rates differ";
        return draft.same(map, check);
    }
}
