package hypertransfer.lab.terminal;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Curves;
import hypertransfer.train.run.Trainee;
import hypertransfer.train.run.Watcher;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Locale;

/** Shows a run as it goes: one live line on a terminal, a line a step in a file. */
public final class StepLine implements Watcher {
    private final PrintWriter out;
    private final Configuration c;
    private final boolean live;
    private final boolean brief;
    private Curves target;
    private double validation = Double.NaN;
    private double pace; // seconds a step, the recent ones counting most
    private boolean unfinished; // whether the live line waits for its end

    public StepLine(PrintWriter out, Configuration c, boolean live, boolean brief) {
        this.brief = brief;
        this.out = out;
        this.c = c;
        this.live = live;
        target = c.target() == null ? null : Curves.read(Path.of(c.target()));
    }

    @Override
    public void started(Trainee trainee, int step) {
        out.printf(
                Locale.ROOT,
                "%s, %,d parameters on engine %s; %d steps of %,d tokens%n",
                c.network(),
                c.architecture().parameters(),
                trainee.engine().name(),
                c.steps(),
                c.tokensPerStep());
        if (!brief) {
            out.print(trainee.memory().table());
            out.print(trainee.routingTable());
        }
        if (step > 0) {
            out.println("going on at step " + step);
        }
        out.flush();
    }

    @Override
    public void stepped(int step, double loss, double seconds, long tokens) {
        pace = pace == 0 ? seconds : 0.9 * pace + 0.1 * seconds;
        int done = step + 1;
        String line = String.format(
                Locale.ROOT,
                "step %05d/%05d (%.2f%%) | loss %.5f%s | val %.5f | %.0f ms | tok/s %,.0f | eta %s",
                done,
                c.steps(),
                100.0 * done / c.steps(),
                loss,
                gap(step, loss),
                validation,
                1000 * seconds,
                c.tokensPerStep() / seconds,
                duration((c.steps() - done) * pace));
        if (live) {
            out.print("\r\u001b[K" + line);
            unfinished = true;
        } else {
            out.println(line);
        }
        out.flush();
    }

    private String gap(int step, double loss) {
        Double other = target == null ? null : target.losses().get(step);
        return other == null ? "" : String.format(Locale.ROOT, " | gap %+.1e", loss - other);
    }

    @Override
    public void validated(int step, double loss) {
        validation = loss;
        if (target != null && !target.validations().containsKey(step)) { // it may still be running
            target = Curves.read(Path.of(c.target()));
        }
        Double other = target == null ? null : target.validations().get(step);
        if (!live) {
            out.printf(
                    Locale.ROOT,
                    "step %05d/%05d validation %.5f%s%n",
                    step,
                    c.steps(),
                    loss,
                    other == null ? "" : String.format(Locale.ROOT, " | gap %+.1e", loss - other));
            out.flush();
        }
    }

    @Override
    public void warned(String sentence) {
        end();
        out.println("warning: " + sentence);
        out.flush();
    }

    /** Ends the live line. */
    public void end() {
        if (unfinished) {
            out.println();
            unfinished = false;
        }
        out.flush();
    }

    public static String duration(double seconds) {
        long s = Math.round(seconds);
        return s < 3600
                ? String.format(Locale.ROOT, "%d:%02d", s / 60, s % 60)
                : String.format(Locale.ROOT, "%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    }
}
