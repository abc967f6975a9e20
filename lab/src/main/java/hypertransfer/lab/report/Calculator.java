package hypertransfer.lab.report;

import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Preset;
import hypertransfer.train.network.Variant;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.stream.Collectors;
import tools.jackson.databind.json.JsonMapper;

/** The page that computes rates, for those who have no run yet. */
public final class Calculator {
    private Calculator() {}

    /** A network that has a name: {@code matrices} has a line such as {@code fc 512x128 x4} per kind. */
    private record Known(String name, int width, int steps, String factor, String matrices) {
        static Known of(Preset preset) {
            List<Outline> hidden = preset.architecture(Variant.M1).hidden();
            String matrices = hidden.stream()
                    .collect(Collectors.groupingBy(Outline::kind, LinkedHashMap::new, Collectors.toList()))
                    .values()
                    .stream()
                    .map(alike -> alike.getFirst().kind().label() + " "
                            + alike.getFirst().rows() + "x" + alike.getFirst().cols() + " x" + alike.size())
                    .collect(Collectors.joining("\n"));
            int width = preset.architecture(Variant.M1).width();
            return new Known(preset.label(), width, preset.steps(), preset.paper() ? "rms" : "none", matrices);
        }
    }

    /** Writes the page, whole or not at all. */
    public static void write(Path out) {
        List<Known> known = Arrays.stream(Preset.values()).map(Known::of).toList();
        Report.write(out, Page.calculator(JsonMapper.shared().writeValueAsString(known)));
    }
}
