package hypertransfer.train.golden;

import hypertransfer.core.Coefficients;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.ShapeFactor;
import hypertransfer.core.Space;
import hypertransfer.core.Step;
import hypertransfer.core.Transfer;
import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.train.golden.Errors.Quantity;
import hypertransfer.train.golden.Errors.Tolerance;
import hypertransfer.train.network.Network;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Lion;
import hypertransfer.train.optimizer.NorMuon;
import hypertransfer.train.optimizer.Routing;
import hypertransfer.train.optimizer.Signum;
import hypertransfer.train.run.Session;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;

/** Repeats golden trajectories on an engine and measures how far it is from them. */
public record Replay(Golden golden, Function<Dims, Engine> open, Tolerance tolerance) {
    /** Trains one case from the golden start. */
    public Errors run(Golden.Case c) {
        Direction direction = direction(c.direction());
        boolean signs = direction instanceof Lion || direction instanceof Signum;
        Errors errors = new Errors(signs ? tolerance.ofSigns() : tolerance);
        Golden.Sizes sizes = golden.sizes();
        Transfer transfer = Mode.parse(c.mode()).transfer(c.decay());
        if (c.targetDecay() != null) {
            transfer = transfer.following(new Space.Base(c.targetDecay()));
        }
        Routing routing = Routing.standard(direction, transfer);
        Engine engine = open.apply(golden.architecture().dims(sizes.batch()));
        try (Session session = Session.of(engine, golden.architecture(), routing)) {
            Parameters parameters = session.parameters();
            Network network = session.network();
            for (Parameter p : parameters.all()) {
                engine.write(p.master(), golden.values("weight:" + p.name()));
            }
            session.optimizer().start();
            Schedule rate = Schedule.linear(c.rate(), sizes.steps(), c.warmup(), c.finalRatio());
            Schedule adamRate = Schedule.linear(c.adamRate(), sizes.steps(), c.warmup(), c.finalRatio());
            for (int t = 0; t < sizes.steps(); t++) {
                engine.zero(parameters.gradients());
                int[] tokens = golden.tokens(t);
                int[] inputs = Arrays.copyOf(tokens, tokens.length - 1);
                network.gradient(inputs, Arrays.copyOfRange(tokens, 1, tokens.length));
                errors.compare(Quantity.LOSS, "loss", t, network.meanLoss(), c.losses());
                if (t == 0) {
                    // Every representative is still the matrix itself, so the golden gradients hold for all modes.
                    for (Parameter p : parameters.all()) {
                        errors.gradient(p.name(), engine.read(p.gradient()), golden.values("gradient:" + p.name()));
                    }
                }
                compare(t, session.optimizer().step(rate.rate(t), adamRate.rate(t)), c, errors);
            }
        }
        return errors;
    }

    private static void compare(int t, List<Step> steps, Golden.Case c, Errors errors) {
        for (Step step : steps) {
            String name = step.next().matrix();
            Golden.Track track = c.matrices().get(name);
            if (track == null) {
                throw new Refusal("golden case " + c.label() + " has no matrix " + name);
            }
            errors.compare(Quantity.NORM, "norm of " + name, t, step.norm(), track.norm());
            errors.compare(Quantity.NORM, "target norm of " + name, t, step.targetNorm(), track.targetNorm());
            errors.compare(Quantity.RATE, "rate of " + name, t, step.nominal(), track.rate());
            errors.compare(Quantity.RATE, "effective rate of " + name, t, step.effective(), track.effective());
        }
    }

    private static Direction direction(String name) {
        return switch (name) {
            case "muon" -> Direction.Muon.standard();
            case "adam" -> Direction.Adam.standard();
            case "lion" -> new Lion(0.9, 0.99);
            case "signum" -> new Signum(0.9, false);
            case "muon-nesterov" -> muon(true, ShapeFactor.NONE);
            case "muon-rms" -> muon(false, ShapeFactor.RMS);
            case "normuon" -> new NorMuon(Direction.Muon.standard(), 0.95, 1e-10);
            default ->
                throw new Refusal("unknown golden direction '" + name
                        + "'; it must be muon, adam, lion, signum, muon-nesterov, muon-rms or normuon");
        };
    }

    private static Direction muon(boolean nesterov, ShapeFactor factor) {
        return new Direction.Muon(0.95, nesterov, Direction.Muon.iteration(Coefficients.JORDAN, 0), factor);
    }
}
