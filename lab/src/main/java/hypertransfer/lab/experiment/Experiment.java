package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Strict;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Preset;
import hypertransfer.train.run.RecordedRates;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.exc.UnrecognizedPropertyException;
import tools.jackson.dataformat.yaml.YAMLMapper;

/**
 * Several runs that belong together, as a file of {@code runs/} describes them. All settings are {@code key=value}s of a
 * configuration; later ones win: the preset, the experiment's, the preset's, the run's, the preset's for the run. Of a run's
 * own settings {@code key=value|value} is a grid, whose best point by validation loss of the first seed the run takes.
 *
 * @param seeds how many each run is trained with
 * @param again how every run is trained once more; of run r the entry e is the run {@code r-e}
 * @param weights whether finished runs keep their weights
 */
public record Experiment(
        String title,
        List<String> settings,
        Integer seeds,
        Map<String, Member> runs,
        Map<String, Member> again,
        Map<String, Tuned> presets,
        Boolean weights) {
    public Experiment {
        settings = settings == null ? List.of() : settings;
        seeds = seeds == null ? 1 : seeds;
        again = again == null ? Map.of() : again;
        weights = weights == null || weights;
    }

    /** The experiments that come with the project, and what each is about. */
    public static final Map<String, String> KNOWN = """
            exp1        M1, schedule to zero, both directions
            exp2-zero   M2, the plus forms, schedule to zero
            exp2-tenth  M2, the plus forms, schedule to a tenth
            exp3        final-to-peak effective ratios, and MuonH at the matched one
            adamw       AdamW and AdamH on M1
            dense       a dense model; 500 million parameters with --preset dense-500m
            fair        two base optimizers at one effective schedule
            decay       one curve at three weight decays
            arena       every direction at its own rate, and at Muon's effective rates
            record      norm policies, and how much of their gain is their schedule
            replay      plain Muon at the rates that Inverse HyperTransfer+ induces
            ablation    HyperTransfer with the gradient as it is, without s, rate only
            decoupled   the proxy norm on schedules of its own (beyond the paper)
            learned     the proxy norm as a trained number (beyond the paper)
            demo        what 'ht demo' trains
            demo-quick  what 'ht demo --quick' trains
            """.lines()
            .map(line -> line.split(" +", 2))
            .collect(Collectors.toMap(line -> line[0], line -> line[1], (a, b) -> a, LinkedHashMap::new));

    /**
     * One run, or an entry of {@code again}, whose names are those of entries where it follows one, and of runs elsewhere.
     *
     * @param follows the run whose configuration and curves it takes as its target
     * @param ratioOf the run at whose measured mean final-to-peak effective ratio this one's schedule ends
     * @param like the run whose configuration it takes, without following it; with a slash the path of a file or folder
     * @param recordedOf the run whose rates of each matrix and step it takes
     * @param series of these rates: effective, or rate for the nominal ones
     * @param of in {@code again} the runs that are trained once more; null for all that the entry does not name
     */
    public record Member(
            String follows,
            String ratioOf,
            String like,
            String recordedOf,
            String series,
            List<String> of,
            List<String> settings) {
        public Member {
            settings = settings == null ? List.of() : settings;
            series = series == null ? "effective" : series;
        }

        /** An entry of {@code again} for a run: what the entry leaves open is the run's own. */
        private Member again(String run) {
            String target = follows == null ? null : run + "-" + follows;
            String own = target == null ? run : target;
            return new Member(
                    target,
                    null,
                    target == null && like == null ? run : like,
                    recordedOf == null ? own : recordedOf,
                    series,
                    null,
                    settings);
        }

        /** Of {@code again}, the runs that are trained once more. */
        public List<String> of(Collection<String> runs) {
            return of != null
                    ? of
                    : runs.stream().filter(run -> !needs().contains(run)).toList();
        }

        /** The runs that must be finished before this one. */
        List<String> needs() {
            return Stream.of(follows, ratioOf, elsewhere() ? null : like, recordedOf)
                    .filter(Objects::nonNull)
                    .toList();
        }

        /** Whose configuration it takes; null where it has one of its own. */
        String origin() {
            return follows == null ? like : follows;
        }

        /** Whether that is a file or a run outside the experiment. */
        public boolean elsewhere() {
            return follows == null && like != null && like.contains("/");
        }
    }

    /** What is tuned for one preset: settings for all runs, and for single ones. */
    public record Tuned(List<String> settings, Map<String, List<String>> runs) {
        public Tuned {
            settings = settings == null ? List.of() : settings;
            runs = runs == null ? Map.of() : runs;
        }
    }

    /** A run's name is a directory's, inside the experiment's. */
    private static final Pattern NAME = Pattern.compile("[A-Za-z0-9][A-Za-z0-9._-]{0,99}");

    /** An experiment by the name it has here, or a file. */
    public static Experiment read(String name) {
        try (InputStream in = open(name)) {
            YAMLMapper yaml = Strict.strict(YAMLMapper.builder()).build();
            Experiment experiment = yaml.readValue(in, Experiment.class);
            new Check(name).that(experiment != null, "it is empty");
            experiment.check(name);
            return experiment;
        } catch (JacksonException e) {
            String problem = e instanceof UnrecognizedPropertyException unknown
                    ? "unknown key '" + Strict.place(e).replaceFirst(": $", "") + "'; the keys there are "
                            + unknown.getKnownPropertyIds()
                    : Strict.place(e) + Strict.reason(e);
            int line = e.getLocation() == null ? -1 : e.getLocation().getLineNr();
            throw new Refusal(name + " is not an experiment: " + (line > 0 ? "line " + line + ": " : "") + problem, e);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + name + ": " + Atomic.reason(e), e);
        }
    }

    /** The runs, and behind them those of {@code again}. */
    public Map<String, Member> members() {
        Map<String, Member> all = new LinkedHashMap<>(runs);
        again.forEach((entry, how) -> how.of(runs.keySet()).forEach(run -> all.put(run + "-" + entry, how.again(run))));
        return all;
    }

    /** The configuration of a run, where the place is its directory, or in a file; with these settings. */
    public static Configuration at(Path place, List<String> settings) {
        return Files.isDirectory(place)
                ? ConfigurationFile.with(new Run(place).configuration(), settings.toArray(String[]::new))
                : configuration(place, settings);
    }

    /** Reads a configuration, which an experiment is not: the two are told apart by the experiment's title. */
    public static Configuration configuration(Path file, List<String> settings) {
        if (Files.isDirectory(file)) {
            throw new Refusal(file + " is a directory; give a configuration, such as " + file.resolve("config.yaml"));
        }
        if (!Files.isRegularFile(file)) {
            throw new Refusal("there is no file " + file + " in " + Path.of("").toAbsolutePath()
                    + "; give a configuration, such as runs/muon.yaml of the project");
        }
        Strict.requireSmall(file);
        try {
            if (Files.readString(file).lines().limit(100).anyMatch(line -> line.startsWith("title:"))) {
                String name = file.getFileName().toString().replaceFirst("\\.ya?ml$", "");
                throw new Refusal(file + " is an experiment; run it with: ht reproduce "
                        + (KNOWN.containsKey(name) ? name : Next.word(file)));
            }
        } catch (IOException e) {
            throw new Refusal("cannot read " + file + ": " + Atomic.reason(e), e);
        }
        return ConfigurationFile.read(file, settings);
    }

    private static InputStream open(String name) throws IOException {
        if (KNOWN.containsKey(name)) {
            return Experiment.class.getResourceAsStream("runs/" + name + ".yaml");
        }
        if (!Files.isRegularFile(Path.of(name))) {
            throw new Refusal("unknown experiment '" + name + "'; there are " + String.join(", ", KNOWN.keySet())
                    + ", or give a file like those in runs/");
        }
        Strict.requireSmall(Path.of(name));
        return Files.newInputStream(Path.of(name));
    }

    private void check(String file) {
        Check check = new Check(file);
        check.that(title != null, "title has no value");
        check.texts(settings, "settings");
        check.that(seeds > 0, "seeds is " + seeds + "; it must be one or more");
        check.that(runs != null && !runs.isEmpty(), "runs has no run");
        check.that(presets != null, "presets has no value; it may be {}");
        runs.forEach((run, member) -> check.that(member != null, "runs." + run + " has no value; it may be {}"));
        again.forEach((entry, how) -> {
            check.that(how != null, "again." + entry + " has no value; it may be {}");
            for (String run : how.of(runs.keySet())) {
                check.that(runs.containsKey(run), "again." + entry + ".of names '" + run + "', which is no run");
                check.that(
                        !runs.containsKey(run + "-" + entry),
                        "again." + entry + " makes a run " + run + "-" + entry
                                + ", and there is one of that name; call the entry something else");
            }
        });
        Map<String, Member> members = members();
        List<String> order = List.copyOf(members.keySet());
        members.forEach((run, member) -> {
            boolean named = NAME.matcher(run).matches();
            check.that(named, "the run '" + run + "' needs a name of letters, digits, '.', '_' and '-'");
            check.texts(member.settings, "runs." + run + ".settings");
            Configuration.in(file + ": run " + run, () -> RecordedRates.known(member.series));
            for (String other : member.needs()) {
                boolean above = order.subList(0, order.indexOf(run)).contains(other);
                check.that(above, "run " + run + " needs run " + other + ", which must stand above it");
            }
        });
        presets.forEach((preset, tuned) -> {
            Preset.parse(preset);
            String key = "presets." + preset;
            check.that(tuned != null, key + " has no value; it may be {}");
            check.texts(tuned.settings, key + ".settings");
            tuned.runs.forEach((run, values) -> {
                check.that(members.containsKey(run), key + ".runs names '" + run + "', which is no run");
                check.texts(values, key + ".runs." + run);
            });
        });
    }

    /** Refuses a file that is no experiment. */
    private record Check(String file) {
        void that(boolean holds, String problem) {
            if (!holds) {
                throw new Refusal(file + " is not an experiment: " + problem);
            }
        }

        void texts(List<String> settings, String key) {
            that(settings != null, key + " must be a list of key=value");
            for (String text : settings) {
                that(text != null && text.indexOf('=') > 0, key + " holds '" + text + "', which is not key=value");
            }
            ConfigurationFile.check(file + ": " + key, settings);
        }
    }

    /** What is tuned for a preset; nothing where none of its runs is. */
    Tuned tuned(Preset preset) {
        return presets.getOrDefault(preset.label(), new Tuned(List.of(), Map.of()));
    }
}
