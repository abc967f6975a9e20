package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.lab.experiment.Next;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.run.Imported;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "import",
        description = "Makes a run that starts with the weights of a .safetensors file.",
        footer = {
            "  ht import model.safetensors llama.yaml --format llama --out out/llama",
            "  ht train out/llama",
            "",
            "The configuration says which network it is and how to train it. docs/PROMISES.md",
            "says what each format can hold."
        })
public final class ImportCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Parameters(index = "0", paramLabel = "WEIGHTS", description = "A .safetensors file.")
    private Path weights;

    @Parameters(index = "1", paramLabel = "FILE", description = "A configuration.")
    private Path file;

    @Mixin
    private Options.Format format;

    @Option(names = "--out", required = true, paramLabel = "DIR", description = "The directory of the new run.")
    private Path out;

    @Mixin
    private Options.Settings set;

    @Override
    public void run() {
        if (Files.exists(Options.Out.checked(out))) {
            throw new Refusal(out + " is already there; choose another --out");
        }
        if (Files.isDirectory(weights)) {
            throw new Refusal(weights + " is a directory; give a .safetensors file in it");
        }
        Configuration asked = Experiment.configuration(file, set.settings);
        Configuration c = Launch.on(Engines.choose(asked.engine()), asked);
        Launch.requireRoom(c);
        Imported imported = Imported.read(weights, format.dialect, c);
        Launch.create(out, c, hold -> imported.write(hold, c, Launch.provenance()));
        PrintWriter print = spec.commandLine().getOut();
        print.println(out + ": a run with the weights of " + weights
                + " before its first step; continue with: ht train " + Next.word(out));
    }
}
