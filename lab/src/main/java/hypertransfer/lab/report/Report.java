package hypertransfer.lab.report;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Run;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import tools.jackson.databind.json.JsonMapper;

/**
 * The self-contained page of some runs and of those they follow.
 *
 * @param names the runs on the page
 * @param skipped one sentence per run that could not be read and is left out
 * @param damaged one sentence per run of which some lines could not be read and are left out
 */
public record Report(List<String> names, List<String> skipped, List<String> damaged) {
    /**
     * Writes the page, whole or not at all. One run that cannot be read does not keep the others from being shown.
     *
     * @param title null for what the runs are
     * @param note a sentence that says the result; null for one that the page makes
     * @param more messages for the page that no run has
     */
    public static Report write(String title, String note, List<Path> places, Path out, String... more) {
        if (places.isEmpty()) {
            throw new Refusal("a report needs at least one run; name the directories: ht report RUN...");
        }
        var runs = new LinkedHashMap<Path, Run>();
        var skipped = new LinkedHashMap<Path, RuntimeException>();
        var unlisted = new ArrayList<String>();
        for (Path place : places) {
            List<Run> found = Run.under(place, unlisted::add);
            if (found.isEmpty()) {
                throw new Refusal("there is no run in " + place
                        + ": no directory in it has a config.yaml; give a directory that 'ht train' wrote");
            }
            found.forEach(run -> add(real(run.directory()), runs));
        }
        Map<Path, String> names = names(runs.keySet());
        var messages = new ArrayList<>(List.of(more));
        var damaged = new ArrayList<String>();
        for (Run run : runs.values()) {
            try {
                String target = target(run).map(names::get).orElse(null);
                Messages feed = new Messages(names.get(run.directory()), target, run, 1.0 / runs.size());
                messages.addAll(feed.read());
                if (!feed.damage().isEmpty()) {
                    damaged.add(names.get(run.directory()) + ": " + feed.damage());
                }
            } catch (RuntimeException e) {
                skipped.put(run.directory(), e);
                names.remove(run.directory());
            }
        }
        if (names.isEmpty()) {
            throw skipped.values().iterator().next();
        }
        skipped.forEach((run, reason) ->
                messages.add(message("damaged", run.getFileName().toString(), sentence(reason))));
        write(out, Page.report(title, note, messages));
        return new Report(
                List.copyOf(names.values()),
                Stream.concat(skipped.values().stream().map(Report::sentence), unlisted.stream())
                        .toList(),
                damaged);
    }

    /** The run, and before it the one that it follows. */
    private static void add(Path run, Map<Path, Run> runs) {
        if (!runs.containsKey(run)) {
            try {
                target(new Run(run)).filter(t -> !t.equals(run)).ifPresent(t -> runs.putIfAbsent(t, new Run(t)));
            } catch (RuntimeException e) {
                // told when its lines are read
            }
            runs.put(run, new Run(run));
        }
    }

    /** By the last part of the path, and by more of it where two would be the same. */
    private static Map<Path, String> names(Collection<Path> runs) {
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

    /** The directory of the run that this one follows, if its configuration names one that is there. */
    static Optional<Path> target(Run run) {
        return run.target().map(target -> real(target.directory()));
    }

    static Path real(Path path) {
        return Atomic.told("read", path, path::toRealPath);
    }

    static void write(Path out, String page) {
        Atomic.write(Atomic.placed(out), page);
    }

    /** What the page is told of a run that it cannot show. */
    static String message(String type, String name, String text) {
        return JsonMapper.shared().writeValueAsString(Map.of("type", type, "run", name, "message", text));
    }

    static String sentence(RuntimeException reason) {
        return reason instanceof Refusal || reason instanceof UncheckedIOException
                ? reason.getMessage()
                : "cannot be shown: this is a bug (" + reason + ")";
    }
}
