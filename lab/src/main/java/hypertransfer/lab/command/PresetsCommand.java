package hypertransfer.lab.command;

import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.terminal.Ink;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.util.Arrays;
import java.util.List;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

/** {@code ht presets}: the sizes that have a name. */
@Command(
        name = "presets",
        description = "Lists the presets: sizes of networks and runs that have a name.",
        footer = {"  ht presets", "  ht train runs/muon.yaml --set preset=small"})
public final class PresetsCommand implements Runnable {
    @Mixin
    private JsonOption json;

    private record Row(
            String preset,
            long parameters,
            long parametersWithoutHead,
            int vocab,
            int layers,
            int width,
            int head,
            int sequence,
            int batch,
            int tokensPerStep,
            int steps) {
        static Row of(Preset preset) {
            Architecture a = preset.architecture(Variant.M1);
            return new Row(
                    preset.label(),
                    a.parameters(),
                    a.parametersWithoutHead(),
                    a.vocab(),
                    a.layers(),
                    a.width(),
                    a.headWidth(),
                    a.sequence(),
                    preset.batch(),
                    preset.stepTokens(),
                    preset.steps());
        }
    }

    @Override
    public void run() {
        List<Row> rows = Arrays.stream(Preset.values()).map(Row::of).toList();
        json.either(rows, out -> {
            out.println(Ink.BOLD.on("preset     parameters  vocab layers width head sequence batch tok/step   steps"));
            rows.forEach(row -> out.printf(
                    "%-10s %,11d %6d %6d %5d %4d %8d %5d %,8d %,7d%n",
                    row.preset,
                    row.parameters,
                    row.vocab,
                    row.layers,
                    row.width,
                    row.head,
                    row.sequence,
                    row.batch,
                    row.tokensPerStep,
                    row.steps));
            out.printf(
                    "embedding and head are separate: gpt2-124m without its head has %,d%n",
                    Row.of(Preset.GPT2_124M).parametersWithoutHead);
        });
    }
}
