package hypertransfer.lab.command.option;

import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Dialect;
import hypertransfer.train.network.Preset;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import picocli.CommandLine;
import picocli.CommandLine.Option;

/** The options that several commands have, and how values that have names are read. */
public final class Options {
    private Options() {}

    /** Lets all subcommands read values that have names. */
    public static void in(CommandLine line) {
        line.registerConverter(Mode.class, Mode::parse);
        line.registerConverter(Dialect.class, Dialect::parse);
        line.registerConverter(Preset.class, Preset::parse);
        line.registerConverter(Path.class, Options::path);
    }

    /** An empty path, as of a variable that is not set, would mean the current directory by accident. */
    private static Path path(String text) {
        if (text.isBlank()) {
            throw new CommandLine.TypeConversionException(
                    "'" + text + "' names no file or directory; give one, such as out/mine");
        }
        return Path.of(text);
    }

    /** The names of some values, for the help. */
    private abstract static class Names extends ArrayList<String> {
        <T> Names(T[] values, Function<T, String> label) {
            super(List.of(values).stream().map(label).toList());
        }
    }

    public static final class Modes extends Names {
        Modes() {
            super(Mode.values(), Mode::label);
        }
    }

    public static final class Dialects extends Names {
        Dialects() {
            super(Dialect.values(), Dialect::label);
        }
    }

    public static final class Presets extends Names {
        Presets() {
            super(Preset.values(), Preset::label);
        }
    }

    /** {@code --set}, for every command that reads a configuration. */
    public static final class Settings {
        @Option(
                names = "--set",
                paramLabel = "KEY=VALUE",
                description = "Overrides a key of the configuration; may be repeated.")
        public List<String> settings = List.of();

        public Set<String> keys() {
            return settings.stream()
                    .map(setting -> setting.replaceFirst("=.*", "").strip())
                    .collect(Collectors.toSet());
        }
    }

    /** {@code --engine}, for the commands that examine one. */
    public static final class Engine {
        @Option(
                names = "--engine",
                paramLabel = "NAME",
                description =
                        "cuda, cpu, reference, cuda-fp8, reference-fp8, cuda-float32, or auto: the first of cuda, cpu,"
                                + " reference that works (default).")
        private String name = "auto";

        /** The name of an engine that works here. */
        public String chosen() {
            return Engines.choose(name);
        }
    }

    /** {@code --format}, for files of weights that other programs write or read. */
    public static final class Format {
        @Option(
                names = "--format",
                defaultValue = "own",
                paramLabel = "FORMAT",
                completionCandidates = Dialects.class,
                description = "Whose names and forms the tensors have, one of ${COMPLETION-CANDIDATES}"
                        + " (default: ${DEFAULT-VALUE}).")
        public Dialect dialect;
    }

    /** {@code --out DIR}, for the commands that train. */
    public static final class Out {
        @Option(
                names = "--out",
                paramLabel = "DIR",
                description = "Where the results go (default: a directory named after the input).")
        private Path path;

        public Path or(Path fallback) {
            return path == null ? fallback : checked(path);
        }

        /** A path that names something: a root has no name. */
        public static Path checked(Path path) {
            if (path.getFileName() == null) {
                throw new Refusal("--out is '" + path + "'; it must name a file or directory, such as out/mine");
            }
            return path;
        }

        /** Refuses a directory where a file is to be written, before any work. */
        public static Path file(String option, Path path) {
            if (Files.isDirectory(path)) {
                throw new Refusal(option + " is '" + path
                        + "', which is not a file but a directory; name a file, such as out/mine");
            }
            return path;
        }

        /** Refuses two options that name one file. */
        public static void differ(String options, Path a, Path b) {
            if (a.toAbsolutePath().normalize().equals(b.toAbsolutePath().normalize())) {
                throw new Refusal(options + " both name " + a + "; one of them would be lost, so name two files");
            }
        }

        /** In {@code out/}, named after a file, or after the run whose configuration it is. */
        public static Path named(Path file, String suffix) {
            Path full = file.toAbsolutePath().normalize(); // "." has a name too
            Path name = (full.endsWith(Run.CONFIGURATION) ? full.getParent() : full).getFileName();
            if (name == null) {
                throw new Refusal(file + " is not a file; give a configuration or experiment, such as runs/muon.yaml");
            }
            return Path.of("out", name.toString().replaceFirst("\\.ya?ml$", "") + suffix);
        }
    }
}
