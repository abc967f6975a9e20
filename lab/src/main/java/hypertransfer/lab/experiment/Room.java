package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import hypertransfer.lab.terminal.Size;
import hypertransfer.train.config.Configuration;
import java.util.Locale;

/** Refuses a network that cannot fit before anything of it is built, which would take minutes. */
public final class Room {
    /** Weights, gradients and one momentum: what every run needs at least. */
    private static final int COPIES = 3;

    private Room() {}

    /** The engine's own check, which knows every tensor, comes later. */
    public static void require(Configuration c) {
        switch (c.engine()) {
            case "cpu" -> require(c, Float.BYTES, Machine.here().memory(), "of memory");
            case "reference" -> require(c, Double.BYTES, Runtime.getRuntime().maxMemory(), "of heap");
            default -> {} // what a card has is known when it is opened
        }
    }

    static void require(Configuration c, int bytes, long there, String what) {
        long parameters = c.architecture().parameters();
        double needed = (double) COPIES * bytes * parameters;
        if (needed > there) {
            throw new Refusal(String.format(
                    Locale.ROOT,
                    "the network has %,d parameters, whose weights, gradients and momentum need %s, and engine %s has %s %s"
                            + " here; lower model.layers (%d) or model.width (%d)",
                    parameters,
                    Size.of((long) needed),
                    c.engine(),
                    Size.of(there),
                    what,
                    c.model().layers(),
                    c.model().width()));
        }
    }
}
