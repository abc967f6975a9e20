package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.engine.provider.Engines;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.engine.ranks.library.Transports;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.run.Rehearsal;
import java.io.PrintWriter;
import java.io.Writer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.ToIntFunction;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

@Command(
        name = "train",
        description = "Trains a network as a configuration says. It can be stopped at any moment and resumed.",
        footer = {
            "  ht train runs/muon.yaml",
            "  ht train runs/muon.yaml --set matrices.rate=0.04 --out out/fast",
            "  ht train out/fast",
            "  ht train runs/muon.yaml --dry-run",
            "  mpirun -n 8 ./ht train runs/muon.yaml --set model.accumulation=8",
            "",
            "Ctrl-C saves, then stops with exit code 130; run the same command again to",
            "continue. All keys: docs/USE.md"
        })
public final class TrainCommand implements Callable<Integer> {
    /** How long each rank waits for each lower rank to report first, and the maximum number of such waits. */
    private static final Duration TURN = Duration.ofSeconds(2);

    private static final int LONGEST = 10;

    /** How long --dry-run measures. */
    private static final double SECONDS = 5;

    @Parameters(paramLabel = "FILE", description = "A configuration; or the directory of a run to continue.")
    private Path file;

    @Mixin
    private Options.Settings set;

    @Mixin
    private Options.Out out;

    @Option(
            names = "--dry-run",
            description = "Measure a few steps and show what the run would need: parameters, tokens, memory, time.")
    private boolean dry;

    @Mixin
    private JsonOption json;

    @Override
    public Integer call() {
        return together(Transports.open(), this::train);
    }

    /** One rank's part. Where it fails, in whatever way, the others must not wait for it. */
    static int together(Ranks ranks, ToIntFunction<Ranks> part) {
        try {
            int exit = part.applyAsInt(ranks);
            ranks.close();
            return exit;
        } catch (RuntimeException | Error e) {
            endAll(ranks, Exit.of(e));
            throw e;
        }
    }

    /**
     * Lets every rank end with this code when this process does, after it has said why. Most failures happen at all ranks
     * alike, and one sentence is enough: each rank leaves those before it the time to say it, and is ended by the first
     * that does.
     */
    private static void endAll(Ranks ranks, int code) {
        if (ranks.size() == 1) {
            return;
        }
        LockSupport.parkNanos(TURN.multipliedBy(Math.min(LONGEST, ranks.rank())).toNanos());
        Runtime.getRuntime().addShutdownHook(new Thread(() -> ranks.abort(code)));
    }

    /** One of the ranks speaks for all. */
    static PrintWriter voice(Ranks ranks, PrintWriter out) {
        return ranks.rank() == 0 ? out : new PrintWriter(Writer.nullWriter());
    }

    private int train(Ranks ranks) {
        boolean directory = Files.isDirectory(file);
        if (directory && out.or(null) != null) {
            throw new Refusal(file + " is a directory; the run in it is continued there, so omit --out");
        }
        Configuration c = Experiment.at(file, set.settings);
        ranks.limit(Duration.ofSeconds(c.ranks().limit()));
        Path to = directory ? file : out.or(Options.Out.named(file, ""));
        PrintWriter writer = voice(ranks, json.out());
        if (json.only && !dry) {
            throw new Refusal("--json needs --dry-run; a run writes its progress to metrics.jsonl");
        }
        if (dry) {
            forecast(c, ranks.rank() == 0);
            return Exit.FINE;
        }
        try (Interrupt interrupt = new Interrupt(ranks.rank() == 0)) {
            boolean finished =
                    new Launch(to, c, false, writer, ranks).run(interrupt, directory ? set.keys() : Set.of());
            Width.folded(writer).print(finished ? Next.trained(to, c) : Next.stopped(to));
            return finished ? Exit.FINE : Exit.INTERRUPTED;
        }
    }

    /** What the run would take on this machine: builds the network and measures a few steps; writes nothing. */
    private void forecast(Configuration asked, boolean speaks) {
        Configuration c = Launch.on(Engines.choose(asked.engine()), asked);
        Launch.requireRoom(c);
        Rehearsal r = Rehearsal.of(c, SECONDS);
        if (speaks) {
            json.either(answer(c, r), words -> words.print(text(c, r)));
        }
    }

    private static ObjectNode answer(Configuration c, Rehearsal r) {
        return JsonMapper.shared()
                .createObjectNode()
                .put("network", c.network().name())
                .put("preset", c.preset().label())
                .put("engine", r.engine())
                .put("parameters", c.architecture().parameters())
                .put("tokens", r.tokens())
                .put("steps", c.steps())
                .put("seconds", r.seconds())
                .put("step_seconds", r.stepSeconds())
                .put("validation_seconds", r.validationSeconds())
                .put("bytes", r.memory().total());
    }

    private static String text(Configuration c, Rehearsal r) {
        Architecture a = c.architecture();
        String network = a.label() + ", preset " + c.preset().label() + ", engine " + r.engine();
        double times = (double) r.tokens() / r.trainingTokens();
        return "network     %s%n".formatted(network)
                + "parameters  %,d (%,d without the head)%n".formatted(a.parameters(), a.parametersWithoutHead())
                + "tokens      %,d: %s of %,d; "
                        .formatted(r.tokens(), StepLine.count(c.steps(), "step"), c.tokensPerStep())
                + "the corpus has %,d and is read %.3g times%n".formatted(r.trainingTokens(), times)
                + "time        %s: %.3g s per step ".formatted(StepLine.duration(r.seconds()), r.stepSeconds())
                + "(%d measured), %.3g s per validation%n".formatted(r.steps(), r.validationSeconds())
                + r.memory().table()
                + "nothing was written; to start the run, omit --dry-run\n";
    }
}
