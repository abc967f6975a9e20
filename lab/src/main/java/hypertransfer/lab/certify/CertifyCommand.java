package hypertransfer.lab.certify;

import hypertransfer.core.Limits;
import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.train.file.Atomic;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.ObjectWriter;

@Command(
        name = "certify",
        description =
                "Says whether two configurations, two runs, or a run and a log made elsewhere have the same dynamics.",
        footer = {
            "  ht certify runs/muon.yaml out/muon-hypertransfer",
            "  ht certify out/muonh out/replayed --out certificate",
            "  ht certify out/muon norms.csv",
            "",
            "The answer is 'the same (map: ...)', 'the same to first order in the rate,",
            "because ...' or 'different from step t on, because ...'. It follows from the",
            "settings, in exact arithmetic, and from a check that trains both for a few steps",
            "in double precision, on a small network with the same routing. If the two",
            "disagree, the numbers decide, and the answer says so. A log has the columns of",
            "'ht effective'; only its own columns are compared.",
            "Exit code 0: the same; 1: different, or the same to first order only."
        })
public final class CertifyCommand implements Callable<Integer> {
    private static final double CHECK_BOUND = 1e-9;
    private static final double LOG_BOUND = 1e-4; // logs have float32, and few digits

    @Parameters(index = "0", paramLabel = "A", description = "A configuration (.yaml) or a run.")
    private Path a;

    @Parameters(index = "1", paramLabel = "B", description = "The same; or a log, as .csv or .jsonl, also with .gz.")
    private Path b;

    @Option(names = "--steps", paramLabel = "N", description = "Steps of the check (default: ${DEFAULT-VALUE}).")
    private int steps = 30;

    @Option(
            names = "--bound",
            paramLabel = "X",
            description = "Ignore relative differences below this (default: 1e-9, or 1e-4 for a log).")
    private Double bound;

    @Option(names = "--out", paramLabel = "FILE", description = "Writes the certificate as FILE.json and FILE.txt.")
    private Path out;

    @Mixin
    private JsonOption json;

    @Override
    public Integer call() {
        if (steps < 1 || steps > 10_000) {
            throw new Refusal("--steps is " + steps + "; it must be from 1 to 10000");
        }
        if (bound != null) {
            Limits.aboveZero("--bound", bound);
        }
        Certificate certificate = certificate();
        if (out != null) {
            write(certificate);
        }
        String differing = certificate.settings("    ", true);
        json.either(
                certificate,
                print -> print.print(certificate.text()
                        + (differing.isEmpty() ? "" : "  settings that differ, A | B:\n" + differing)));
        return certificate.same() ? Exit.FINE : Exit.CHECK_FAILED;
    }

    private Certificate certificate() {
        boolean first = Side.log(a), second = Side.log(b);
        if (!first && !second) {
            return Certificate.of(Side.read("A", a), Side.read("B", b), steps, bound == null ? CHECK_BOUND : bound);
        }
        if (first && second) {
            throw new Refusal(a + " and " + b + " are both logs; one side must be a run");
        }
        Path log = first ? a : b;
        Side ours = Side.read("A", first ? b : a);
        if (ours.run() == null) {
            throw new Refusal(ours.place() + " is a configuration, which has no norms to compare with " + log
                    + "; train it, then give the run");
        }
        return Certificate.of(ours, log, bound == null ? LOG_BOUND : bound);
    }

    private void write(Certificate certificate) {
        ObjectWriter writer = JsonOption.mapper().writerWithDefaultPrettyPrinter();
        String line = writer.writeValueAsString(certificate) + "\n";
        Map<Path, String> files = Map.of(Path.of(out + ".json"), line, Path.of(out + ".txt"), certificate.page());
        files.forEach((file, text) -> { // both before either; the same text was written by a command that was ended
            if (Files.exists(file)
                    && !Atomic.told("read", file, () -> Files.readString(file)).equals(text)) {
                throw new Refusal(file + " is already there; choose another --out");
            }
        });
        files.forEach((file, text) -> Atomic.create(Atomic.placed(file), "--out", Atomic.text(text)));
    }
}
