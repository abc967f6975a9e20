package hypertransfer.lab.terminal;

import java.util.Map;

/** Colour, where the output is a terminal that is not asked to go without (NO_COLOR, or TERM=dumb). */
public enum Ink {
    BOLD(1),
    FAINT(2),
    RED(31),
    GREEN(32),
    YELLOW(33),
    BLUE(34);

    private static final boolean HERE = wanted(System.getenv(), Width.terminal());

    private final int code;

    Ink(int code) {
        this.code = code;
    }

    public static boolean here() {
        return HERE;
    }

    static boolean wanted(Map<String, String> environment, boolean terminal) {
        return terminal
                && environment.getOrDefault("NO_COLOR", "").isEmpty()
                && !environment.getOrDefault("TERM", "").equals("dumb");
    }

    /** The text in this colour, or as it is where there are none. Pad it first: the codes take no room. */
    public String on(String text) {
        return on(text, HERE);
    }

    String on(String text, boolean coloured) {
        return coloured && !text.isEmpty() ? "\u001b[" + code + "m" + text + "\u001b[0m" : text;
    }
}
