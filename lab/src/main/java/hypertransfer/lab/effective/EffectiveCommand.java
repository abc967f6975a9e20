package hypertransfer.lab.effective;

import hypertransfer.lab.command.option.Csv;
import hypertransfer.lab.command.option.JsonOption;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht effective}: the effective rates of a run made elsewhere. */
@Command(
        name = "effective",
        description = "Computes the effective rate of every matrix from a log of norms, written by any framework.",
        footer = {
            "  ht effective norms.csv",
            "  ht effective norms.jsonl.gz --csv effective.csv",
            "  ht effective norms.csv --json | tail -n 1",
            "",
            "The columns, by name, with one row per step and matrix:",
            "  step            counted from zero, rising; every k-th step is enough",
            "  matrix          its name; columns such as weight_norm/NAME work too",
            "  weight_norm     |w| before the update (Frobenius)",
            "  update_norm     |rate * u|, what is subtracted, without weight decay; or",
            "  direction_norm  |u|, before it is multiplied by the rate",
            "  rate, decay     learning rate and decoupled weight decay",
            "  inner_product   <u,w>, optional: gives the exact angle of a step",
            "",
            "docs/USE.md has the lines of PyTorch and JAX that write such a file.",
            "at rest: the norm at which decay and growth balance. implied: rate * decay /",
            "effective. The last column is the schedule of angles with which a Hyperball",
            "does the same. Rows that cannot be used are named on the error stream."
        })
public final class EffectiveCommand implements Runnable {
    private static final int MOST = 200;
    private static final String HEAD =
            "matrix,steps,norm,at end,at rest,peak eff.,step,end eff.,end/peak,implied,as a Hyperball's schedule";

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "LOG", description = "A .csv or .jsonl file, also with .gz.")
    private Path log;

    @Mixin
    private JsonOption json;

    @Option(
            names = "--csv",
            paramLabel = "FILE",
            description = "A new file: step, matrix, weight_norm, effective, angle, implied_decay.")
    private Path csv;

    private Effective answer;

    @Override
    public void run() {
        if (csv == null) {
            answer = Effective.read(log, null);
        } else {
            String header = "step,matrix,weight_norm,effective,angle,implied_decay";
            Csv.write(csv, header, table -> answer = Effective.read(log, table));
        }
        PrintWriter err = spec.commandLine().getErr();
        answer.problems().forEach(p -> err.println("ht: " + log + " " + p));
        if (answer.leftOut() > 0) {
            err.println("ht: of " + answer.rows() + " rows, and lines that are none, " + answer.leftOut()
                    + " were left out");
        }
        json.both(answer, this::print);
    }

    private void print(PrintWriter out) {
        int width = answer.matrices().stream()
                .mapToInt(m -> m.matrix().length())
                .max()
                .orElse(6);
        String format = "%-" + Math.max(6, width) + "s %7s %9s %9s %9s %10s %7s %10s %9s %9s  %s%n";
        out.printf(format, (Object[]) HEAD.split(","));
        answer.matrices().stream()
                .limit(MOST)
                .forEach(m -> out.printf(
                        format,
                        m.matrix(),
                        m.steps(),
                        number(m.firstNorm()),
                        number(m.lastNorm()),
                        number(m.restNorm()),
                        number(m.peakEffective()),
                        m.peakStep(),
                        number(m.endEffective()),
                        number(m.endToPeak()),
                        number(m.impliedDecay()),
                        m.hyperball().text()));
        if (answer.matrices().size() > MOST) {
            out.println("and " + (answer.matrices().size() - MOST) + " more; --json has all");
        }
        double mean = answer.matrices().stream()
                .mapToDouble(Effective.Summary::endToPeak)
                .average()
                .orElse(Double.NaN);
        out.printf(Locale.ROOT, "mean end/peak %.4f%n", mean);
        out.println("one Hyperball schedule for all: " + answer.all().text());
        answer.notes().forEach(note -> out.println("note: " + note));
        if (csv != null) {
            out.println("every row is in " + csv);
        }
    }

    private static String number(Double value) {
        return value == null ? "-" : String.format(Locale.ROOT, "%.4g", value);
    }
}
