package hypertransfer.lab.command;

import hypertransfer.core.GradientRule;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Launch;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.Word;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.run.Invariance;
import java.io.PrintWriter;
import java.nio.file.Path;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

@Command(
        name = "invariance",
        description =
                "Measures f(cw) against f(w) for each hidden matrix, and says which gradient rule is exact for it.",
        footer = {
            "  ht invariance runs/muon.yaml",
            "  ht invariance runs/muon.yaml --set network=M2 --json",
            "",
            "matrices.gradient=auto takes these rules. A run measures nothing:",
            "they follow from the network's norms."
        })
public final class InvarianceCommand implements Runnable {
    @Parameters(paramLabel = "FILE", description = "A configuration.")
    private Path file;

    @Mixin
    private Options.Settings set;

    @Mixin
    private JsonOption json;

    @Override
    public void run() {
        Configuration c = Experiment.configuration(file, set.settings);
        Launch.requireRoom(c);
        Invariance measured = Invariance.measure(c);
        ObjectNode line = JsonMapper.shared().createObjectNode();
        line.put("network", c.architecture().label())
                .put("loss", measured.loss())
                .put("rounding", measured.rounding());
        ObjectNode matrices = line.putObject("matrices");
        PrintWriter words = Width.folded(json.people());
        words.printf("%-28s %16s  %-16s %s%n", "matrix", "largest change", "scale-invariant", "exact rule");
        measured.change().forEach((name, change) -> {
            boolean invariant = measured.invariant(name);
            GradientRule own = measured.rules().get(name); // as it is where the run follows nothing
            GradientRule followers = invariant ? GradientRule.RESCALED : GradientRule.REPRESENTATIVE;
            String rule = Word.of(own == GradientRule.AS_IS ? followers : own);
            words.printf("%-28s %16.2e  %-16s %s%n", name, change, invariant ? "yes" : "no", rule);
            matrices.putObject(name)
                    .put("change", change)
                    .put("invariant", invariant)
                    .put("rule", rule);
        });
        boolean all = measured.change().keySet().stream().allMatch(measured::invariant);
        words.printf(
                "changes are |f(cw) - f(w)| / f(w), the largest over c = 1/4, 1/2, 2, 4; up to %.1e is rounding%n",
                measured.rounding());
        words.println(
                all
                        ? "so hypertransfer and inverse-hypertransfer are exact here, and the plus forms too"
                        : "so hypertransfer-plus and inverse-hypertransfer-plus are exact here; or any mode with"
                                + " matrices.gradient=auto, which takes the exact rule of each matrix");
        json.either(line.put("exact", all ? "hypertransfer" : "hypertransfer-plus"), out -> {}); // they have read it
    }
}
