package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Folder;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunLock;
import hypertransfer.train.log.Span;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * A span of a stored run, trained again from one of its checkpoints, or from its start, in a folder that is removed
 * afterwards. The run itself is only read.
 *
 * @param from the first step that was taken again
 * @param to the step before which it ended
 * @param lines how many lines of {@code metrics.jsonl} and {@code matrices.jsonl} were compared
 * @param weights whether the weights and the optimizer's memory at {@code to} are the same; null where the run keeps none of
 *     that step
 * @param differences the lines that differ, in their order
 * @param facts what of program and machine is not as it was, such as {@code commit}: before and now
 */
public record Verification(
        int from, int to, int lines, Boolean weights, List<Difference> differences, Map<String, Fact> facts) {
    /** A line that is not the same; the numbers are losses, NaN where only something else of the line differs. */
    public record Difference(int step, String what, double stored, double here) {}

    public record Fact(String before, String now) {}

    /** What never says anything about bits. */
    private static final Set<String> IDLE = Set.of("started", "cores");

    public boolean equal() {
        return differences.isEmpty() && !Boolean.FALSE.equals(weights);
    }

    /** The steps that a run can be taken up from: its start, and its checkpoints. */
    public static List<Integer> starts(Run run) {
        IntStream checkpoints = run.checkpoints().stream().mapToInt(numbers -> Math.toIntExact(Run.step(numbers)));
        return IntStream.concat(IntStream.of(run.configuration().from().step()), checkpoints)
                .sorted()
                .distinct()
                .boxed()
                .toList();
    }

    /**
     * Trains the span and compares.
     *
     * @param provenance what a run here would remember of the program and the machine
     * @param stop whether the user has had enough
     */
    public static Verification of(Span span, Map<String, String> provenance, Watcher watcher, BooleanSupplier stop) {
        Run run = span.run();
        int from = span.from(), to = span.to();
        Path folder = Atomic.told("make", Path.of("a temporary folder"), () -> Files.createTempDirectory("ht-verify"));
        try (RunLock lock = RunLock.create(folder.resolve("run"), span.c())) {
            Run again = lock.run();
            Atomic.told("copy", run.directory(), () -> copy(run, from, again.directory()));
            Trainer trainer = new Trainer(again, lock, new Alone(), span.c(), provenance, watcher);
            trainer.run(true, span.open(), () -> trainer.step() >= to || stop.getAsBoolean());
            if (trainer.step() < to) {
                throw new Refusal("stopped at step " + trainer.step() + " of " + from + " to " + to
                        + "; nothing was compared, and the run is as it was");
            }
            return compare(span, again);
        } finally {
            Atomic.told("remove", folder, () -> {
                Folder.delete(folder);
                return null;
            });
        }
    }

    private static Void copy(Run run, int from, Path folder) throws IOException {
        Files.createDirectories(folder.resolve(Run.CHECKPOINTS));
        for (Path numbers : run.checkpoints()) {
            if (Run.step(numbers) == from) {
                if (!Checkpoint.good(numbers)) {
                    throw new Refusal(numbers + " or its tensors are damaged; name another step with --from");
                }
                for (Path file : List.of(numbers, Checkpoint.tensorsOf(numbers))) {
                    Files.copy(file, folder.resolve(Run.CHECKPOINTS).resolve(file.getFileName()));
                }
            }
        }
        if (Files.exists(run.file(Run.DECISIONS))) {
            Files.copy(run.file(Run.DECISIONS), folder.resolve(Run.DECISIONS));
        }
        return null;
    }

    private static Verification compare(Span span, Run again) {
        Run run = span.run();
        int from = span.from(), to = span.to();
        int matrices = again.provenance().matrices().size();
        Map<String, Line> stored = new HashMap<>();
        all(run, matrices).forEach(line -> stored.put(name(line), line));
        List<Line> here =
                all(again, matrices).sorted(Comparator.comparingInt(Line::step)).toList();
        List<Difference> differences = new ArrayList<>();
        int lines = 0;
        for (Line line : here) {
            Line before = stored.get(name(line));
            if (before != null) {
                lines++;
                if (!timeless(before).equals(timeless(line))) {
                    differences.add(new Difference(line.step(), what(line), before.loss(), line.loss()));
                }
            }
        }
        if (lines == 0) {
            throw new Refusal(run.directory() + " has no line of the steps " + from + " to " + to + " to compare with");
        }
        Map<String, Fact> facts = facts(span, again);
        return new Verification(from, to, lines, weights(run, again, to), List.copyOf(differences), facts);
    }

    private static Stream<Line> all(Run run, int matrices) {
        return Stream.concat(
                run.metrics().lines(Line.class), run.matrices(matrices).lines(Line.class));
    }

    private static String name(Line line) {
        return what(line) + " " + line.step();
    }

    private static String what(Line line) {
        return switch (line) {
            case Line.Training t -> "training loss";
            case Line.Validation v -> "validation loss";
            case Line.Matrices m -> "norms and rates";
        };
    }

    private static String timeless(Line line) {
        return line.text().replaceFirst(",\"seconds\":[^,}]*", "");
    }

    private static Boolean weights(Run run, Run again, int step) {
        Path stored = new Checkpoints(run).numbers(step), here = new Checkpoints(again).numbers(step);
        if (!Files.exists(stored)) {
            return null;
        }
        Checkpoint before = Checkpoint.read(stored), now = Checkpoint.read(here);
        return before.tensors() == now.tensors() && before.states().equals(now.states());
    }

    private static Map<String, Fact> facts(Span span, Run again) {
        Map<String, Fact> facts = new TreeMap<>();
        Map<String, String> before = new HashMap<>(span.run().provenance().facts());
        if (span.back().contains("engine")) { // these are the facts of the engine that came later
            before.keySet().removeAll(Set.of("engine", "arithmetic"));
        }
        again.provenance().facts().forEach((key, now) -> {
            if (!IDLE.contains(key)
                    && before.containsKey(key)
                    && !before.get(key).equals(now)) {
                facts.put(key, new Fact(before.get(key), now));
            }
        });
        return facts;
    }
}
