package hypertransfer.lab.report;

import hypertransfer.core.Refusal;
import hypertransfer.train.log.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** The self-contained page of some runs and of those they follow. */
public final class Report {
    private Report() {}

    /** Writes the report and returns the names of the runs in it. */
    public static List<String> write(List<Path> places, Path out) {
        if (places.isEmpty()) {
            throw new Refusal("a report needs at least one run; name the directories: ht report RUN...");
        }
        var given = new ArrayList<Path>();
        for (Path place : places) {
            List<Path> found = Runs.under(place);
            if (found.isEmpty()) {
                throw new Refusal("there is no run in " + place
                        + ": no directory in it has a config.yaml; give a directory that 'ht train' wrote");
            }
            given.addAll(found);
        }
        List<Path> all = Runs.withTargets(given);
        Map<Path, String> names = Runs.names(all);
        List<Run> runs = all.stream().map(Run::new).toList();
        Runs.sameNetwork(names, runs);
        var messages = new ArrayList<String>();
        for (Run run : runs) {
            String target = Runs.target(run).map(names::get).orElse(null);
            messages.addAll(new Feed(names.get(run.directory()), target, run).read());
        }
        try {
            Path file = out.toAbsolutePath();
            Files.createDirectories(file.getParent());
            Files.writeString(file, Page.report(messages));
        } catch (IOException e) {
            throw new Refusal("cannot write " + out + " (" + e + "); give another file with --out", e);
        }
        return List.copyOf(names.values());
    }
}
