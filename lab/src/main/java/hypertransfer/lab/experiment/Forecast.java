package hypertransfer.lab.experiment;

import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.run.Rehearsal;
import java.util.Locale;

/** What a run would take on this machine, in words. */
public record Forecast(Rehearsal rehearsal) {
    private static final double SECONDS = 5;

    /** Builds the network and measures a few steps; writes nothing. */
    public static Forecast of(Configuration asked) {
        Configuration c = asked.engine().equals("auto")
                ? ConfigurationFile.with(asked, "engine=" + Engines.choose("auto"))
                : asked;
        Room.require(c);
        return new Forecast(Rehearsal.of(c, SECONDS));
    }

    /** What a program is told. */
    public record Answer(
            String network,
            String preset,
            String engine,
            long parameters,
            long tokens,
            int steps,
            double seconds,
            double stepSeconds,
            double validationSeconds,
            long bytes) {}

    public Answer answer() {
        Configuration c = rehearsal.configuration();
        return new Answer(
                c.network().name(),
                c.preset().label(),
                rehearsal.engine(),
                c.architecture().parameters(),
                rehearsal.tokens(),
                c.steps(),
                rehearsal.seconds(),
                rehearsal.stepSeconds(),
                rehearsal.validationSeconds(),
                rehearsal.memory().total());
    }

    public String text() {
        Configuration c = rehearsal.configuration();
        return String.format(
                Locale.ROOT,
                """
                network     %s, preset %s, engine %s
                parameters  %,d (%,d without the head)
                tokens      %,d: %,d steps of %,d; the corpus has %,d and is read %.3g times
                time        %s: %.3g s per step (%d measured), %.3g s per validation
                %snothing was written; without --dry-run it starts
                """,
                c.architecture().design().label(),
                c.preset().label(),
                rehearsal.engine(),
                c.architecture().parameters(),
                c.architecture().parametersWithoutHead(),
                rehearsal.tokens(),
                c.steps(),
                c.tokensPerStep(),
                rehearsal.trainingTokens(),
                (double) rehearsal.tokens() / rehearsal.trainingTokens(),
                StepLine.duration(rehearsal.seconds()),
                rehearsal.stepSeconds(),
                rehearsal.steps(),
                rehearsal.validationSeconds(),
                rehearsal.memory().table());
    }
}
