package hypertransfer.lab.command.option;

import hypertransfer.core.Refusal;
import java.nio.file.Path;
import picocli.CommandLine.Option;

/** {@code --out DIR}, for the commands that train. */
public final class OutOption {
    @Option(
            names = "--out",
            paramLabel = "DIR",
            description = "Where the results go (default: a directory in out/ with the name of the input).")
    private Path path;

    public boolean given() {
        return path != null;
    }

    /** What was asked for, or the fallback. */
    public Path or(Path fallback) {
        return path == null ? fallback : checked(path);
    }

    /** A path that names something: an empty one would mean the current directory by accident, a root has no name. */
    public static Path checked(Path path) {
        if (path.getFileName() == null || path.toString().isBlank()) {
            throw new Refusal("--out is '" + path + "'; it must name a file or directory, such as out/mine");
        }
        return path;
    }

    /** In {@code out/}, named after a file. */
    public static Path named(Path file, String suffix) {
        if (file.getFileName() == null) {
            throw new Refusal(file + " is not a file; give a configuration or an experiment, such as runs/muon.yaml");
        }
        return Path.of("out", file.getFileName().toString().replaceFirst("\\.ya?ml$", "") + suffix);
    }
}
