package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Span;
import hypertransfer.train.run.Verification;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "verify",
        description = "Trains a part of a stored run again, and says whether every number is the same to the last bit.",
        footer = {
            "  ht verify out/muon                         from its last checkpoint on",
            "  ht verify out/muon --from 0 --steps 100    its first hundred steps",
            "  ht verify out/muon --set engine=cpu        a run from a card, on this machine",
            "",
            "The run is only read. Exit code 0: equal to the bit; 1: not."
        })
public final class VerifyCommand implements Callable<Integer> {
    private static final int SHOWN = 5;

    @Parameters(paramLabel = "RUN", description = "A run, finished or not.")
    private Path run;

    @Option(
            names = "--from",
            paramLabel = "STEP",
            description = "0, or a step with a checkpoint (default: the last checkpoint with steps after it).")
    private Integer from;

    @Option(names = "--steps", paramLabel = "N", description = "How many steps (default: ${DEFAULT-VALUE}).")
    private int steps = 20;

    @Mixin
    private Options.Settings set;

    @Mixin
    private JsonOption json;

    @Override
    public Integer call() {
        Run stored = new Run(run);
        requireOnlyTheEngine();
        int last = stored.metrics().last(Line.Training.class).map(Line::step).orElse(-1) + 1;
        int start = start(stored, last);
        if (steps < 1) {
            throw new Refusal("--steps is " + steps + "; it must be one or more");
        }
        int end = Math.min(start + steps, last);
        PrintWriter words = json.words();
        try (Interrupt interrupt = new Interrupt()) {
            Span span = Span.of(stored, start, end, set.settings);
            StepLine line = new StepLine(words, span.c(), Optional.empty(), true);
            Verification found;
            try {
                found = Verification.of(span, Launch.provenance(), line, interrupt);
            } finally {
                line.end();
                interrupt.rest();
            }
            json.either(found, out -> tell(out, found));
            if (span.to() < end) {
                words.println("  settings were changed at step " + span.to()
                        + " (changes.txt); the steps after it: ht verify " + Next.word(run.toString()) + " --from "
                        + span.to());
            }
            return found.equal() ? Exit.FINE : Exit.CHECK_FAILED;
        }
    }

    private void requireOnlyTheEngine() {
        ConfigurationFile.check("--set", set.settings);
        List<String> other =
                set.keys().stream().filter(key -> !key.equals("engine")).toList();
        if (!other.isEmpty()) {
            throw new Refusal(
                    "--set " + String.join(", ", other) + " would make it another run; only engine can be set here");
        }
    }

    private int start(Run stored, int last) {
        List<Integer> starts =
                Verification.starts(stored).stream().filter(step -> step < last).toList();
        if (from == null && starts.isEmpty()) {
            throw new Refusal(run + " has no logged steps that could be trained again");
        }
        if (from != null && !starts.contains(from)) {
            String there = starts.stream().map(String::valueOf).collect(Collectors.joining(", "));
            throw new Refusal("--from is " + from + "; " + run + " can be trained again from step " + there);
        }
        return from == null ? (int) starts.getLast() : from;
    }

    private void tell(PrintWriter out, Verification found) {
        String span = "steps " + found.from() + " to " + found.to() + ": ";
        if (found.equal()) {
            out.println(span + "equal to the bit (" + found.lines() + " lines of losses, norms and rates"
                    + (found.weights() == null ? "" : ", and the weights at step " + found.to()) + ")");
        } else if (found.differences().isEmpty()) {
            out.println(span + "every line is equal, but the weights at step " + found.to() + " are not");
        } else {
            out.println(span + found.differences().size() + " of " + found.lines() + " lines differ");
            found.differences().stream().limit(SHOWN).forEach(d -> out.println("  " + sentence(d)));
        }
        found.facts()
                .forEach((name, fact) -> out.println("  " + name + " was " + fact.before() + ", is " + fact.now()
                        + (found.equal() ? "" : ": bits may differ by this")));
        if (!found.equal() && found.facts().isEmpty()) {
            out.println("  program, machine and engine are as they were: these numbers should be the same");
        }
    }

    private static String sentence(Verification.Difference d) {
        String numbers = ": %.9g in the run, %.9g here, %.2g apart";
        return "step " + d.step() + ", " + d.what()
                + (Double.isNaN(d.here())
                        ? ""
                        : numbers.formatted(d.stored(), d.here(), Math.abs(d.stored() - d.here())));
    }
}
