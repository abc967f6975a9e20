package hypertransfer.train;

import hypertransfer.core.Refusal;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;

/** A choice that has a word in files and on the command line: its name in small letters, with hyphens. */
public interface Word {
    String name();

    default String label() {
        return of(name());
    }

    static String of(Enum<?> choice) {
        return of(choice.name());
    }

    private static String of(String name) {
        return name.toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** The choice that a word stands for. */
    static <E extends Enum<E>> Optional<E> find(Class<E> type, String word) {
        return Arrays.stream(type.getEnumConstants())
                .filter(choice -> of(choice).equals(word))
                .findFirst();
    }

    /** The same; refuses another word. */
    static <E extends Enum<E>> E parse(Class<E> type, String what, String word) {
        return find(type, word)
                .orElseThrow(() -> new Refusal("unknown " + what + " '" + word + "'; the " + what + "s are "
                        + Arrays.stream(type.getEnumConstants()).map(Word::of).collect(Collectors.joining(", "))));
    }
}
