package hypertransfer.lab.terminal;

import static java.util.stream.Collectors.averagingDouble;
import static java.util.stream.Collectors.groupingBy;

import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.TargetLosses;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.ranks.Team;
import hypertransfer.train.run.Session;
import hypertransfer.train.run.Watcher;
import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.IntStream;

/** Shows a run as it trains: one live line on a terminal, one line per validation in a file. */
public final class StepLine implements Watcher {
    private static final int WIDE = 140, BAR = 20;

    private final PrintWriter out;
    private final Configuration c;
    private final boolean live;
    private final Width width;
    private final boolean brief;
    private final TargetLosses target;
    private String title;
    private double peak; // operations per second that all ranks could do, or 0
    private List<String> kinds = List.of(); // of each hidden matrix
    private Map<String, Double> turning = Map.of(); // the mean effective rate of each kind, as last logged
    private List<String> last = List.of(); // the fields of the last step
    private double validation = Double.NaN;
    private int taken; // steps since the start
    private double pace; // seconds per step, the recent ones counting most
    private boolean unfinished; // whether the live line waits for its end

    /**
     * On the terminal, if the output is one.
     *
     * @param followed the run whose losses are compared with
     * @param brief whether the tables of memory and routing are left out
     */
    public StepLine(PrintWriter out, Configuration c, Optional<Run> followed, boolean brief) {
        this(out, c, followed, Width.terminal(), Width.here(), brief);
    }

    StepLine(PrintWriter out, Configuration c, Optional<Run> followed, boolean live, Width width, boolean brief) {
        this.brief = brief;
        this.out = out;
        this.c = c;
        this.live = live;
        this.width = width;
        target = new TargetLosses(followed);
    }

    /** With a line above all others, once nothing can be refused any more. */
    public StepLine titled(String line) {
        title = line;
        return this;
    }

    @Override
    public void started(Session session, int step) {
        if (title != null) {
            out.println(title);
        }
        kinds = session.optimizer().matrices().stream()
                .map(matrix -> matrix.whole().kind().label())
                .toList();
        Architecture a = c.architecture();
        String parameters =
                "%,d parameters (%,d without the head)".formatted(a.parameters(), a.parametersWithoutHead());
        String run = count(c.steps(), "step") + " of %,d tokens".formatted(c.tokensPerStep());
        out.println(width.fold(
                a.label() + ", " + parameters + " on engine " + session.engine().name() + "; " + run, 4));
        Team team = session.team();
        peak = session.ranks().size() * session.engine().peak();
        if (session.ranks().size() > 1) {
            out.println(team.exchange.label() + ", " + team.share.ownership().balance());
        }
        if (!brief) {
            out.print(width.cut(session.memory().table()));
            out.print(width.cut(session.routing().table(session.parameters().all())));
        }
        if (step > 0) {
            out.println("continuing at step " + step);
        }
        out.flush();
    }

    @Override
    public void logged(Line line) {
        switch (line) {
            case Line.Training t -> stepped(t);
            case Line.Validation v -> validated(v);
            case Line.Matrices m ->
                turning = IntStream.range(0, kinds.size())
                        .boxed()
                        .collect(groupingBy(kinds::get, LinkedHashMap::new, averagingDouble(k -> m.effective()[k])));
        }
    }

    private void stepped(Line.Training line) {
        double seconds = line.seconds();
        pace = taken++ < 2 ? seconds : 0.9 * pace + 0.1 * seconds; // the first step also warms the machine up
        int done = line.step() + 1;
        List<String> fields = new ArrayList<>();
        fields.add(bar(done) + place(done));
        fields.add(String.format("loss %.5f", line.loss()));
        target.gap(line).ifPresent(gap -> fields.add(String.format("gap %+.1e", gap)));
        if (!Double.isNaN(validation)) { // not known until the first validation after a resume
            fields.add(String.format("val %.5f", validation));
        }
        fields.add(String.format("%.0f ms", 1000 * seconds));
        fields.add(String.format("tok/s %,.0f", c.tokensPerStep() / seconds));
        if (peak > 0) {
            double operations = c.architecture().operations() * c.tokensPerStep() / seconds;
            fields.add(String.format("%.1f%% of peak", 100 * operations / peak));
        }
        fields.add("eta " + duration((c.steps() - done) * pace));
        turning.forEach((kind, rate) -> fields.add(String.format("%s turns %.2g", kind, rate)));
        if (live) {
            out.print("\r\u001b[K" + coloured(width.join(fields)));
            unfinished = true;
            out.flush();
        }
        last = fields;
    }

    private String place(int step) {
        return String.format("step %05d/%05d (%.2f%%)", step, c.steps(), 100.0 * step / c.steps());
    }

    /** Where the terminal has room. */
    private String bar(int done) {
        int filled = (int) ((long) BAR * done / c.steps());
        return live && width.columns() >= WIDE ? "█".repeat(filled) + "░".repeat(BAR - filled) + " " : "";
    }

    /** Colours take no room, so they come last. */
    private static String coloured(String line) {
        return line.replaceFirst("loss [^|]*[^| ]", Ink.BOLD.on("$0"))
                .replaceFirst("gap [^|]*[^| ]", Ink.GREEN.on("$0"))
                .replaceFirst("eta .*", Ink.FAINT.on("$0"));
    }

    private void validated(Line.Validation line) {
        validation = line.loss();
        if (!live) {
            List<String> fields =
                    new ArrayList<>(List.of(place(line.step()), String.format("validation %.5f", validation)));
            target.gap(line).ifPresent(gap -> fields.add(String.format("gap %+.1e", gap)));
            last.stream()
                    .skip(1)
                    .filter(field -> !field.matches("(gap|val) .*"))
                    .forEach(fields::add);
            out.println(String.join(" | ", fields));
            out.flush();
        }
    }

    @Override
    public void clipped(int times, int steps, double kept) {
        end();
        String left = times == 0 ? "" : String.format(", to %.2f of their norm on average", kept);
        out.println("gradients were clipped in " + times + " of " + steps + " steps" + left);
        out.flush();
    }

    @Override
    public void warned(String sentence) {
        end();
        out.println(width.fold(Ink.YELLOW.on("warning:") + " " + sentence, 4));
        out.flush();
    }

    public void end() {
        if (unfinished) {
            out.println();
            unfinished = false;
        }
        out.flush();
    }

    /** One step, or several. */
    public static String count(int number, String what) {
        return String.format("%,d %s%s", number, what, number == 1 ? "" : "s");
    }

    public static String duration(double seconds) {
        long s = Math.round(seconds);
        return s < 3600
                ? String.format("%d:%02d", s / 60, s % 60)
                : String.format("%d:%02d:%02d", s / 3600, s / 60 % 60, s % 60);
    }
}
