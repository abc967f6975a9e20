package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import hypertransfer.lab.report.Report;
import hypertransfer.lab.terminal.Interrupt;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.train.log.RunLock;
import java.io.PrintWriter;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/**
 * Runs that several processes share among them, on one host or on a file system they have in common. A process claims a
 * run by holding it, and the system releases what a killed process held, so its run goes to the next who looks.
 */
public final class Sharing {
    private static final long PAUSE = 300_000_000; // nanoseconds
    private static final int TURNS = 100;
    private final List<Path> runs;
    private final Interrupt stop;
    private final PrintWriter out;
    private final long begun = System.nanoTime();
    private int trained; // runs before the one that is announced

    Sharing(List<Path> runs, Interrupt stop, PrintWriter out) {
        this.runs = runs;
        this.stop = stop;
        this.out = out;
    }

    /**
     * Takes every run once, in their order as far as others leave them.
     *
     * @param ready whether what a run needs of the others is there
     * @param take trains a run, unless that is done; returns false where it was interrupted
     * @return whether all are done, here or elsewhere
     */
    boolean run(Predicate<Path> ready, Predicate<Path> take) {
        List<Path> open = new ArrayList<>(runs);
        boolean told = false;
        while (!open.isEmpty()) {
            boolean idle = true;
            for (Path run : List.copyOf(open)) {
                if (stop.told()) {
                    return false;
                }
                if (RunLock.held(run) || !ready.test(run)) {
                    continue;
                }
                try {
                    if (!take.test(run)) {
                        return false;
                    }
                } catch (Refusal e) {
                    if (RunLock.held(run)) { // another process was quicker
                        continue;
                    }
                    throw e;
                }
                open.remove(run);
                idle = false;
            }
            if (idle) {
                if (!told) {
                    out.println("waiting for runs that other processes train: " + open.size());
                    out.flush();
                    told = true;
                }
                LockSupport.parkNanos(PAUSE);
            }
        }
        return true;
    }

    /** How long these runs still take, for the line of the next that is trained, by how long the ones before took. */
    String left(Path next) {
        double seconds = (System.nanoTime() - begun) / 1e9 / trained * (runs.size() - runs.indexOf(next));
        return trained++ == 0 ? "" : "; " + StepLine.duration(seconds) + " left for these " + runs.size() + " runs";
    }

    /** The page of all runs in their directory, with messages that no run has. */
    public static void report(String title, List<Path> runs, Path directory, PrintWriter words, String... more) {
        Path page = directory.resolve("report.html");
        inTurn(() -> Report.write(title, null, runs, page, more));
        words.println("report: " + page.toAbsolutePath().normalize().toUri());
        words.flush();
    }

    /** Writes a file that every process writes when all runs are done, each the same: one after the other. */
    static void inTurn(Runnable writing) {
        for (int left = TURNS; ; left--) {
            try {
                writing.run();
                return;
            } catch (Refusal e) {
                if (left == 0 || !(e.getCause() instanceof OverlappingFileLockException)) {
                    throw e;
                }
                LockSupport.parkNanos(PAUSE);
            }
        }
    }
}
