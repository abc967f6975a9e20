package hypertransfer.lab.effective;

import static java.util.stream.Collectors.averagingDouble;

import hypertransfer.lab.command.option.Csv;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.terminal.Table;
import java.io.PrintWriter;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "effective",
        description = "Computes the effective rate of every matrix from a log of norms, written by any framework.",
        footer = {
            "  ht effective norms.csv",
            "  ht effective norms.jsonl.gz --csv effective.csv",
            "  ht effective norms.csv --json",
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
            "docs/USE.md says how PyTorch and JAX write such a file.",
            "at rest is the norm at which decay and growth balance; implied is rate * decay /",
            "effective. The last column is the schedule of angles with which a Hyperball",
            "takes the same steps. The error stream names rows that cannot be used."
        })
public final class EffectiveCommand implements Runnable {
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
            answer = Effective.read(log, row -> {});
        } else {
            Csv.write(csv, "step,matrix,weight_norm,effective,angle,implied_decay", this::read);
        }
        PrintWriter err = json.err();
        answer.problems().forEach(p -> err.println("ht: " + log + " " + p));
        if (answer.leftOut() > 0) {
            err.println("ht: rows read: " + answer.rows() + ", lines left out: " + answer.leftOut());
        }
        json.either(answer, this::print);
    }

    private void read(Csv table) {
        answer = Effective.read(
                log, r -> table.row(r.step(), r.matrix(), r.norm(), r.effective(), r.angle(), r.impliedDecay()));
    }

    private void print(PrintWriter out) {
        new Table<Effective.Summary>()
                .column("matrix", "%s", Effective.Summary::matrix)
                .column("steps", "%7d", Effective.Summary::steps)
                .column("norm", "%9.4g", Effective.Summary::firstNorm)
                .column("at end", "%9.4g", Effective.Summary::lastNorm)
                .column("at rest", "%9.4g", Effective.Summary::restNorm)
                .column("peak eff.", "%10.4g", Effective.Summary::peakEffective)
                .column("step", "%7d", Effective.Summary::peakStep)
                .column("end eff.", "%10.4g", Effective.Summary::endEffective)
                .column("end/peak", "%9.4g", Effective.Summary::endToPeak)
                .column("implied", "%9.4g", Effective.Summary::impliedDecay)
                .column("as a Hyperball's schedule", "%s", m -> Fit.text(m.hyperball()))
                .print(out, answer.matrices());
        out.printf(
                "mean end/peak %.4f%n",
                answer.matrices().stream().collect(averagingDouble(Effective.Summary::endToPeak)));
        out.println("one Hyperball schedule for all: " + Fit.text(answer.all()));
        answer.notes().forEach(note -> out.println("note: " + note));
        if (csv != null) {
            out.println("every row is in " + csv);
        }
    }
}
