package hypertransfer.lab.command;

import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.terminal.Table;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Preset;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "presets",
        description = "Lists the presets: named sizes of networks and runs.",
        footer = {"  ht presets", "  ht presets --keys", "  ht train runs/muon.yaml --set preset=small"})
public final class PresetsCommand implements Runnable {
    @Mixin
    private JsonOption json;

    @Option(names = "--keys", description = "Prints every key of a configuration with its default and meaning instead.")
    private boolean keys;

    private static Map<String, Object> row(Preset preset) {
        Architecture a = preset.architecture;
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("preset", preset.label());
        row.put("parameters", a.parameters());
        row.put("parameters_without_head", a.parametersWithoutHead());
        row.put("vocab", a.vocab());
        row.put("layers", a.layers());
        row.put("width", a.width());
        row.put("head", a.headWidth());
        row.put("sequence", a.sequence());
        row.put("batch", preset.batch);
        row.put("tokens_per_step", preset.stepTokens);
        row.put("steps", preset.steps);
        return row;
    }

    @Override
    public void run() {
        if (keys) {
            json.out().print(ConfigurationFile.keys());
            return;
        }
        var rows = Arrays.stream(Preset.values()).map(PresetsCommand::row).toList();
        json.either(rows, out -> {
            var table = new Table<Map<String, Object>>().column("preset", "%s", row -> row.get("preset"));
            for (String name : List.of("parameters", "vocab", "layers", "width", "head", "sequence", "batch")) {
                table.column(name, name.equals("parameters") ? "%,d" : "%d", row -> row.get(name));
            }
            table.column("tok/step", "%,d", row -> row.get("tokens_per_step"))
                    .column("steps", "%,d", row -> row.get("steps"))
                    .print(out, rows);
            out.printf(
                    "embedding and head are separate: gpt2-124m without its head has %,d%n",
                    row(Preset.GPT2_124M).get("parameters_without_head"));
        });
    }
}
