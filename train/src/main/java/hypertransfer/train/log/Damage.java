package hypertransfer.train.log;

import java.nio.file.Path;

/**
 * The lines of a file that could not be taken.
 *
 * @param first why the first could not
 */
public record Damage(Path file, int lines, String first) {

    Damage and(String place, String why) {
        return new Damage(file, lines + 1, lines == 0 ? place + " " + why : first);
    }

    /** For people, e.g. {@code metrics.jsonl has 1 damaged line (line 2 is not JSON)}; empty where all is well. */
    @Override
    public String toString() {
        return lines == 0
                ? ""
                : file.getFileName() + " has " + lines
                        + (lines == 1 ? " damaged line (" : " damaged lines (the first: ") + first + ")";
    }
}
