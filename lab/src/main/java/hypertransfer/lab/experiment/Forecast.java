package hypertransfer.lab.experiment;

import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.network.Architecture;
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
        Rehearsal r = rehearsal;
        Configuration c = r.configuration();
        Architecture a = c.architecture();
        String network = a.label() + ", preset " + c.preset().label() + ", engine " + r.engine();
        double times = (double) r.tokens() / r.trainingTokens();
        return "network     %s%n".formatted(network)
                + "parameters  %,d (%,d without the head)%n".formatted(a.parameters(), a.parametersWithoutHead())
                + "tokens      %,d: %,d steps of %,d; ".formatted(r.tokens(), c.steps(), c.tokensPerStep())
                + "the corpus has %,d and is read %.3g times%n".formatted(r.trainingTokens(), times)
                + "time        %s: %.3g s per step ".formatted(StepLine.duration(r.seconds()), r.stepSeconds())
                + "(%d measured), %.3g s per validation%n".formatted(r.steps(), r.validationSeconds())
                + r.memory().table()
                + "nothing was written; without --dry-run it starts\n";
    }
}
