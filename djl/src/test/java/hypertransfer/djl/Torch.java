package hypertransfer.djl;

import static org.junit.jupiter.api.Assumptions.abort;

/** The tests' engine. */
public final class Torch {
    private Torch() {}

    /** Skips the test, and says so, where Maven brought no libtorch for this platform. */
    public static void required() {
        if (Torch.class.getClassLoader().getResource("native/lib/pytorch.properties") == null) {
            String why = "skipped: Maven has no libtorch for " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch");
            System.err.println(why); // build logs only count what is skipped
            abort(why);
        }
    }
}
