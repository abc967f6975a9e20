package hypertransfer.train.data;

import java.util.Locale;
import java.util.regex.Pattern;

/** The two halves of a corpus, with the word for them in the names of shards. */
public enum Split {
    TRAIN("train", 1),
    VALIDATION("val", 0);

    private final String label;
    private final int first;

    Split(String label, int first) {
        this.label = label;
        this.first = first;
    }

    /** The name of shard i: numbered as FineWeb's are, validation from 0 and training from 1. */
    String file(String name, int i) {
        return String.format(Locale.ROOT, "%s_%s_%06d.bin", name, label, first + i);
    }

    /** The names of all shards called so, as a regular expression. */
    String pattern(String name) {
        return Pattern.quote(name + "_" + label + "_") + "[0-9]{6,}\\.bin";
    }

    /** What the names of this split's shards look like in a directory. */
    String glob() {
        return "*_" + label + "_*.bin";
    }
}
