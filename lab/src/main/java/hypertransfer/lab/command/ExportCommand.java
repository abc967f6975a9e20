package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.Options;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.TrainedNetwork;
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
        name = "export",
        description = "Writes the weights of a run's newest good checkpoint as float32 .safetensors.",
        footer = {
            "  ht export out/muon --out muon.safetensors",
            "  ht export out/muon --out start.safetensors --step 0",
            "  ht export out/llama --out llama.safetensors --format llama",
            "",
            "These are the weights at which the network is evaluated. docs/PROMISES.md shows",
            "how to read them with Python."
        })
public final class ExportCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "RUN", description = "A run with a checkpoint.")
    private Path run;

    @Option(names = "--out", required = true, paramLabel = "FILE", description = "A new file.")
    private Path out;

    @Option(
            names = "--step",
            paramLabel = "N",
            description = "A step with a checkpoint, or 0 for the weights at the start (default: the newest).")
    private Integer step;

    @Mixin
    private Options.Format format;

    @Override
    public void run() {
        if (Files.exists(out)) {
            throw new Refusal(out + " is already there; choose another --out");
        }
        PrintWriter print = spec.commandLine().getOut();
        int at = TrainedNetwork.export(
                new Run(run), out, format.dialect, step, warning -> print.println("warning: " + warning));
        print.println(out + ": the weights of " + run + " at step " + at);
    }
}
