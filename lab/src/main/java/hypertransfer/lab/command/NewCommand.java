package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.Labels;
import hypertransfer.lab.command.option.OutOption;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.network.Preset;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/** {@code ht new}: a configuration to start from. */
@Command(
        name = "new",
        description = "Writes a configuration to start from, with its main keys explained.",
        footer = {
            "  ht new mine.yaml",
            "  ht new mine.yaml --optimizer muonh --preset small",
            "  ht new mine.yaml --network llama --preset small",
            "  ht new books.yaml --preset mid --data data/books"
        })
public final class NewCommand implements Runnable {
    /** The rates are those that were tuned at preset demo. */
    private enum Optimizer {
        muon("muon", "base", 0.06, 0.01),
        muonh("muon", "hyperball", 0.03, 0.02),
        adamw("adam", "base", 0.003, 0.02),
        adamh("adam", "hyperball", 0.03, 0.02);

        private final String direction;
        private final String mode;
        private final double rate;
        private final double adamRate;

        Optimizer(String direction, String mode, double rate, double adamRate) {
            this.direction = direction;
            this.mode = mode;
            this.rate = rate;
            this.adamRate = adamRate;
        }
    }

    /** The networks with a name, in the keys of {@code model}. */
    private enum Network {
        M1("M1", ""),
        M2("M2", ""),
        gpt2(
                "M2",
                "{mlp: gelu, norm: layer, qk_norm: false, embed_norm: false, positions: learned, bias: true, tied: true}"),
        llama("M2", "{mlp: swiglu, qk_norm: false, embed_norm: false}  # kv_heads: n for shared keys and values");

        private final String variant;
        private final String model;

        Network(String variant, String keys) {
            this.variant = variant;
            model = keys.isEmpty() ? "" : "model: " + keys + "\n";
        }
    }

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "FILE", description = "The file to write, such as mine.yaml.")
    private Path file;

    @Option(
            names = "--optimizer",
            defaultValue = "muon",
            description = "Of the hidden matrices, one of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Optimizer optimizer;

    @Option(
            names = "--preset",
            defaultValue = "demo",
            completionCandidates = Labels.Presets.class,
            description = "One of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Preset preset;

    @Option(
            names = "--network",
            defaultValue = "M1",
            description = "One of ${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE}).")
    private Network network;

    @Option(
            names = "--data",
            paramLabel = "DIR",
            description = "Shards that 'ht data tokenize' wrote (default: the text inside the project).")
    private Path data;

    @Override
    public void run() {
        if (Files.exists(OutOption.checked(file))) {
            throw new Refusal(file + " exists already; choose another name, or remove it");
        }
        String shards = data == null
                ? "demo"
                : "\"" + data.toString().replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
        String text = """
                # What it takes: ht train %1$s --dry-run     Start it: ht train %1$s
                # Every other key has its default; docs/CONFIGURATION.md explains all of them.
                network: %2$s         # M1: the scale of no hidden matrix matters; M2: only that of queries and keys does not
                preset: %3$s          # sizes; 'ht presets' lists them
                %10$ssteps: %4$d
                seed: 1234
                matrices:           # the hidden matrices
                  direction: %5$s     # muon, adam, sgd, lion, signum, normuon, adamuon, soap
                  mode: %6$s          # base (Muon, AdamW) or hyperball (MuonH, AdamH); 'ht transfer' follows a run in another space
                  rate: %7$s          # the peak, tuned at preset demo; elsewhere: ht sweep %1$s --grid rate=...
                  decay: 0.1        # weight decay; a Hyperball has none
                  schedule: linear  # to zero, after a warm-up of 5 percent
                adamw:              # embedding, head and gains
                  rate: %8$s
                data:
                  train: %9$s         # demo: the text inside the project; or a directory of shards
                  validation: %9$s
                checkpoint:
                  every: 100        # steps
                """.formatted(
                        file,
                        network.variant,
                        preset.label(),
                        preset.steps(),
                        optimizer.direction,
                        optimizer.mode,
                        optimizer.rate,
                        optimizer.adamRate,
                        shards,
                        network.model);
        Atomic.write(file, text);
        PrintWriter out = spec.commandLine().getOut();
        out.println("wrote " + file);
        out.println("next: ht train " + file + " --dry-run   what it takes");
        out.println("      ht train " + file + "             train it");
    }
}
