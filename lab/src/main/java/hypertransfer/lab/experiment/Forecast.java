package hypertransfer.lab.experiment;

import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.run.Rehearsal;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/** What a run would take on this machine, in words. */
public record Forecast(Rehearsal rehearsal) {
    private static final double SECONDS = 5;

    /** Builds the network and measures a few steps; writes nothing. */
    public static Forecast of(Configuration asked) {
        Configuration c = Launch.on(Engines.choose(asked.engine()), asked);
        Launch.requireRoom(c);
        return new Forecast(Rehearsal.of(c, SECONDS));
    }

    /** What a program is told. */
    public ObjectNode answer() {
        Configuration c = rehearsal.configuration();
        return JsonMapper.shared()
                .createObjectNode()
                .put("network", c.network().name())
                .put("preset", c.preset().label())
                .put("engine", rehearsal.engine())
                .put("parameters", c.architecture().parameters())
                .put("tokens", rehearsal.tokens())
                .put("steps", c.steps())
                .put("seconds", rehearsal.seconds())
                .put("step_seconds", rehearsal.stepSeconds())
                .put("validation_seconds", rehearsal.validationSeconds())
                .put("bytes", rehearsal.memory().total());
    }

    public String text() {
        Configuration c = rehearsal.configuration();
        return String.format(
                """
                network     %s, preset %s, engine %s
                parameters  %,d (%,d without the head)
                tokens      %,d: %,d steps of %,d; the corpus has %,d and is read %.3g times
                time        %s: %.3g s per step (%d measured), %.3g s per validation
                %snothing was written; without --dry-run it starts
                """,
                c.architecture().label(),
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
