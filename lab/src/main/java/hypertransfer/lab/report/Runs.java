package hypertransfer.lab.report;

import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Run;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Finds runs and names them: by the last part of the path, and by more of it where two would be the same. */
final class Runs {
    private Runs() {}

    /** The directory of the run that this one follows, if its configuration names one that is there. */
    static Optional<Path> target(Run run) {
        return run.target().map(target -> real(target.directory()));
    }

    static Map<Path, String> names(Collection<Path> runs) {
        var names = new LinkedHashMap<Path, String>();
        for (Path run : runs) {
            int all = run.getNameCount();
            Path name = IntStream.range(1, all)
                    .mapToObj(parts -> run.subpath(all - parts, all))
                    .filter(end ->
                            runs.stream().filter(other -> other.endsWith(end)).count() == 1)
                    .findFirst()
                    .orElseGet(() -> run.subpath(0, all));
            names.put(run, name.toString());
        }
        return names;
    }

    /** Two runs can be laid over each other where this and the matrices are equal. */
    static String shape(Map<String, String> settings) {
        return settings.getOrDefault("network", "?") + " with "
                + Stream.of("vocab", "layers", "width", "head")
                        .map(size -> size + " " + settings.getOrDefault("model." + size, "?"))
                        .collect(Collectors.joining(", "));
    }

    /** A path as a command takes it here. */
    static Path here(Path path) {
        Path here = Path.of("").toAbsolutePath(), whole = path.toAbsolutePath();
        return whole.startsWith(here) && !whole.equals(here) ? here.relativize(whole) : whole;
    }

    static Path real(Path path) {
        return Atomic.told("read", path, path::toRealPath);
    }
}
