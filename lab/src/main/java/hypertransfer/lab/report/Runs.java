package hypertransfer.lab.report;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Run;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/** Finds runs and names them: by the last part of the path, and by more of it where two would be the same. */
final class Runs {
    private static final int DEPTH = 3;

    private Runs() {}

    /** {@code place} itself where it is a run, else the runs inside it, in the order of their names. */
    static List<Path> under(Path place) {
        return Run.under(place, DEPTH, unreadable -> {}).stream()
                .map(run -> real(run.directory()))
                .toList();
    }

    /** The runs that a report shows: the given ones and the targets they follow, targets first. */
    static List<Path> withTargets(List<Path> given) {
        var all = new ArrayList<Path>();
        for (Path run : given) {
            target(new Run(run)).filter(t -> !all.contains(t)).ifPresent(all::add);
            if (!all.contains(run)) {
                all.add(run);
            }
        }
        return all;
    }

    /** The directory of the run that this one follows, if its configuration names one that is there. */
    static Optional<Path> target(Run run) {
        return run.target().map(target -> real(target.directory()));
    }

    static Map<Path, String> names(List<Path> runs) {
        var names = new LinkedHashMap<Path, String>();
        for (Path run : runs) {
            int parts = 1;
            while (parts < run.getNameCount() && ambiguous(run, parts, runs)) {
                parts++;
            }
            names.put(run, ending(run, parts));
        }
        return names;
    }

    private static boolean ambiguous(Path run, int parts, List<Path> runs) {
        return runs.stream()
                .anyMatch(other -> !other.equals(run) && ending(other, parts).equals(ending(run, parts)));
    }

    private static String ending(Path path, int parts) {
        int count = path.getNameCount();
        return path.subpath(Math.max(0, count - parts), count).toString();
    }

    /** Refuses runs whose curves mean different things. */
    static void sameNetwork(Map<Path, String> names, List<Run> runs) {
        var shapes = runs.stream()
                .collect(Collectors.groupingBy(
                        run -> shape(run.configuration()),
                        LinkedHashMap::new,
                        Collectors.mapping(run -> names.get(run.directory()), Collectors.joining(", "))));
        if (shapes.size() > 1) {
            throw new Refusal("these runs are of different networks and cannot be laid over each other: "
                    + shapes.entrySet().stream()
                            .map(e -> e.getValue() + " (" + e.getKey() + ")")
                            .collect(Collectors.joining("; "))
                    + "; write a report for each network");
        }
    }

    /** Two runs can be laid over each other where this and the matrices are equal. */
    static String shape(Configuration c) {
        Configuration.Model m = c.model();
        return c.network() + " with vocab " + m.vocab() + ", layers " + m.layers() + ", width " + m.width() + ", head "
                + m.head();
    }

    private static Path real(Path path) {
        try {
            return path.toRealPath();
        } catch (IOException e) {
            throw new Refusal(path + " cannot be read (" + e.getMessage() + ")", e);
        }
    }
}
