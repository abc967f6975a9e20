package hypertransfer.train.file;

import hypertransfer.core.Refusal;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Stream;

/** A directory with all that is in it. */
public final class Folder {
    private Folder() {}

    /** The files of a directory whose names match, by name. */
    public static List<Path> list(Path directory, String glob) {
        List<Path> found = new ArrayList<>();
        try (DirectoryStream<Path> entries = Files.newDirectoryStream(directory, glob)) {
            entries.forEach(found::add);
        } catch (PatternSyntaxException e) {
            throw new Refusal("cannot list " + glob + " in " + directory + ": " + e.getMessage(), e);
        } catch (IOException e) {
            throw new Refusal("cannot list " + glob + " in " + directory + ": " + Atomic.reason(e), e);
        }
        found.sort(null);
        return found;
    }

    public static void delete(Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
