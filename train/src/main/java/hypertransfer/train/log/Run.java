package hypertransfer.train.log;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.RunStatus.State;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The directory of a run, as everyone reads it; {@link RunLock} writes it. docs/PROMISES.md says what is in it. */
public record Run(Path directory) {
    public static final String CONFIGURATION = "config.yaml";
    public static final String PROVENANCE = "provenance.json";
    static final String CHANGES = "changes.txt";
    public static final String METRICS = "metrics.jsonl";
    public static final String MATRICES = "matrices.jsonl";
    public static final String STATE = "state.json";
    /** What the engine decided by measuring; see {@link hypertransfer.engine.Engine#decisions}. */
    public static final String DECISIONS = "decisions.txt";

    /** The angles between a follower and its target at common checkpoints, by {@code ht transfer}. */
    public static final String ANGLES = "angles.json";

    public static final String CHECKPOINTS = "checkpoints";

    /** The keys in which runs agree whose optimizers can be compared. */
    public static final String TASK = "network|steps|(model|data)[.].*";

    /** How deep below a directory runs are looked for: {@code out/exp1/seed-1234/muon} is three deep in {@code out}. */
    public static final int DEPTH = 4;

    private static final Pattern NUMBERS = Pattern.compile("step-(\\d{8,10})\\.json");

    /**
     * The losses that a run has logged so far.
     *
     * @param losses the training loss of each step
     * @param validations the validation loss before a step
     */
    public record Curves(NavigableMap<Integer, Double> losses, NavigableMap<Integer, Double> validations) {
        /** @param told what could not be read */
        public static Curves read(Path run, Consumer<String> told) {
            Curves curves = new Curves(new TreeMap<>(), new TreeMap<>());
            Tail metrics = new Run(run).metrics();
            metrics.lines(Line.class).forEach(line -> {
                switch (line) {
                    case Line.Training t -> curves.losses.put(t.step(), t.loss());
                    case Line.Validation v -> curves.validations.put(v.step(), v.loss());
                    case Line.Matrices m -> {} // of another file
                }
            });
            metrics.tell(told);
            return curves;
        }
    }

    public static boolean in(Path directory) {
        return Files.isRegularFile(directory.resolve(CONFIGURATION));
    }

    /** The run itself where the place is one, else the runs below it, in the order of their names; a link to one of them is none. */
    public static List<Run> under(Path place, Consumer<String> passedOver) {
        if (!Files.isDirectory(place)) {
            throw new Refusal((Files.exists(place) ? place + " is no directory" : "there is no directory " + place)
                    + "; give a run's directory, or one that has runs inside");
        }
        List<Run> found = new ArrayList<>();
        collect(place, DEPTH, found, passedOver);
        found.removeIf(
                run -> Files.isSymbolicLink(run.directory) && found.stream().anyMatch(run::linksTo));
        found.sort(Comparator.comparing(Run::directory));
        return found;
    }

    private boolean linksTo(Run other) {
        return !Files.isSymbolicLink(other.directory)
                && Atomic.told("read", directory, () -> Files.isSameFile(directory, other.directory));
    }

    private static void collect(Path place, int depth, List<Run> found, Consumer<String> passedOver) {
        if (in(place)) {
            found.add(new Run(place));
        } else if (depth > 0) {
            try (Stream<Path> inside = Files.list(place)) {
                inside.filter(Files::isDirectory).forEach(child -> collect(child, depth - 1, found, passedOver));
            } catch (IOException | UncheckedIOException e) { // another user's, or removed meanwhile
                passedOver.accept(place + " cannot be listed (" + e + ")");
            }
        }
    }

    /** With the recorded schedule of an experiment beside the run, if both were moved together. */
    public Configuration configuration() {
        Configuration c = ConfigurationFile.read(configurationFile(), List.of());
        String recorded = c.matrices().recorded();
        if (recorded == null || Files.exists(Path.of(recorded))) {
            return c;
        }
        Path beside =
                directory.resolve("..").resolve(Path.of(recorded).getFileName()).normalize();
        return Files.isRegularFile(beside)
                ? ConfigurationFile.with(c, ConfigurationFile.text("matrices.recorded", beside.toString()))
                : c;
    }

    /** The configuration by whole keys, unchecked; also that of a version which knew other keys. */
    public Map<String, String> settings() {
        return ConfigurationFile.settings(configurationFile());
    }

    private Path configurationFile() {
        if (!in(directory)) {
            throw new Refusal(
                    directory + " is not a run: it has no " + CONFIGURATION + "; 'ht runs' lists the runs there are");
        }
        return file(CONFIGURATION);
    }

    public Provenance provenance() {
        return Provenance.read(file(PROVENANCE));
    }

    /** How the run stands: as it last said, but only a process that holds it can be running it. */
    public RunStatus status() {
        RunStatus said = RunStatus.read(file(STATE));
        return said.state() != State.RUNNING || RunLock.held(directory)
                ? said
                : said.with(begun() ? State.KILLED : State.NOT_BEGUN);
    }

    /**
     * What was changed when the run was resumed.
     *
     * @param step from which on; -1 where the line is not ours
     * @param what keys with both values
     */
    public record Change(int step, String what) {
        private static final Pattern LINE = Pattern.compile("step (\\d{1,9}): (.*)");

        private static Change of(String line) {
            Matcher read = LINE.matcher(line);
            return read.matches() ? new Change(Integer.parseInt(read.group(1)), read.group(2)) : new Change(-1, line);
        }

        @Override
        public String toString() {
            return step < 0 ? what : "step " + step + ": " + what;
        }
    }

    public List<Change> changes() {
        Path file = file(CHANGES);
        List<String> lines = Files.exists(file) ? Atomic.told("read", file, () -> Files.readAllLines(file)) : List.of();
        return lines.stream().map(Change::of).toList();
    }

    /** Says in one sentence that settings were changed when the run was resumed, where they were. */
    public Optional<String> changed() {
        boolean changed = file(CHANGES).toFile().length() > 0;
        return changed ? Optional.of("settings were changed on the way (" + CHANGES + ")") : Optional.empty();
    }

    /** The same with the run's name. */
    public void tellChanges(Consumer<String> told) {
        changed().ifPresent(sentence -> told.accept(directory + ": " + sentence));
    }

    /** Whether a run was begun here. One that was refused before it logged anything was not. */
    public boolean begun() {
        return in(directory)
                && (file(METRICS).toFile().length() > 0 || !checkpoints().isEmpty());
    }

    public Tail metrics() {
        return new Tail(file(METRICS), Line::metric);
    }

    /** The norms and rates of the hidden matrices. */
    public Tail matrices() {
        return matrices(provenance().matrices().size());
    }

    /** The same where it is known how many hidden matrices there are. */
    public Tail matrices(int count) {
        return new Tail(file(MATRICES), bytes -> Line.matrices(bytes, count));
    }

    /** The numbers of all checkpoints, newest first; whether they are good is seen when they are loaded. */
    public List<Path> checkpoints() {
        if (!Files.isDirectory(file(CHECKPOINTS))) {
            return List.of();
        }
        try (Stream<Path> files = Files.list(file(CHECKPOINTS))) {
            return files.filter(file ->
                            NUMBERS.matcher(file.getFileName().toString()).matches())
                    .sorted(Comparator.comparingLong(Run::step).reversed())
                    .toList();
        } catch (IOException e) {
            throw Atomic.failed("list", file(CHECKPOINTS), e);
        }
    }

    public static long step(Path numbers) {
        String name = numbers.getFileName().toString();
        return Long.parseLong(name.substring(5, name.indexOf('.')));
    }

    /** The run that this one follows: the one that its configuration names, or one beside it that differs in the mode only. */
    public Optional<Run> target() {
        return named(settings().getOrDefault("target", "null")).or(this::untransferred);
    }

    private Optional<Run> untransferred() {
        String own = text(), plain = own.replaceFirst("(?m)^(  mode: .)hypertransfer(-plus)?", "$1base");
        String wanted = plain.replaceFirst("(?m)^(  mode: .)inverse-hypertransfer(-plus)?", "$1hyperball");
        Path place = directory.toAbsolutePath().normalize();
        File[] beside = wanted.equals(own) ? null : place.getParent().toFile().listFiles();
        return Stream.of(beside == null ? new File[0] : beside) // null where it is not ours to list
                .map(file -> new Run(file.toPath()))
                .filter(run -> run.file(CONFIGURATION).toFile().length() == wanted.length())
                .filter(run -> run.text().equals(wanted))
                .min(Comparator.comparing(Run::directory));
    }

    /** The configuration with a character per byte, so that nothing is damaged text. */
    private String text() {
        return Atomic.told("read", file(CONFIGURATION), () -> Files.readString(file(CONFIGURATION), ISO_8859_1));
    }

    /** Whether the two computed matrix products by the same algorithms of one card, as far as both have noted theirs. */
    public boolean multipliedAs(Run other) {
        Map<String, String> its = other.products();
        return products().entrySet().stream()
                .allMatch(own -> own.getValue().equals(its.getOrDefault(own.getKey(), own.getValue())));
    }

    private Map<String, String> products() {
        Path file = file(DECISIONS); // lines of card, product, algorithm, checksum
        List<String> lines =
                Files.exists(file) ? Atomic.told("read", file, () -> Files.readAllLines(file, ISO_8859_1)) : List.of();
        return lines.stream()
                .map(line -> line.split(" "))
                .filter(words -> words.length > 2)
                .collect(Collectors.toMap(words -> words[1], words -> words[0] + words[2], (first, last) -> last));
    }

    /** Another run, by its path from this one's directory, or from where the program was started; null names none. */
    public Optional<Run> named(String place) {
        try {
            Path path = Path.of(String.valueOf(place));
            return path.toString().equals("null") || path.getFileName() == null
                    ? Optional.empty()
                    : Stream.of(
                                    directory.resolve(path),
                                    path,
                                    directory.resolveSibling(path),
                                    directory.resolveSibling(path.getFileName())) // both were moved together
                            .map(Path::normalize)
                            .filter(Run::in)
                            .findFirst()
                            .map(Run::new);
        } catch (InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** Changes whenever a file of the run does. */
    public String stamp() {
        return Stream.of(CONFIGURATION, PROVENANCE, STATE, METRICS, MATRICES)
                .map(name -> file(name).toFile())
                .map(file -> file.length() + "@" + file.lastModified())
                .collect(Collectors.joining(" "));
    }

    public Path file(String name) {
        return directory.resolve(name);
    }
}
