package hypertransfer.train.config;

import hypertransfer.core.Clip;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule;
import hypertransfer.core.ShapeFactor;
import hypertransfer.core.Space;
import hypertransfer.engine.EngineException;
import hypertransfer.engine.Format;
import hypertransfer.engine.Iteration;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.optimizer.AdaMuon;
import hypertransfer.train.optimizer.Direction;
import hypertransfer.train.optimizer.Lion;
import hypertransfer.train.optimizer.NorMuon;
import hypertransfer.train.optimizer.Representation;
import hypertransfer.train.optimizer.Signum;
import hypertransfer.train.optimizer.Soap;
import hypertransfer.train.optimizer.View;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * What a configuration asks of the optimizer.
 *
 * @param common what hidden matrices of no group get
 * @param hidden what each hidden matrix gets, by its name; empty where there are no groups
 * @param adam of all else
 * @param adamSchedule of all else
 * @param clip the most that gradients may be
 * @param weights how the network sees the hidden matrices
 */
public record Algorithm(
        Course common,
        Map<String, Course> hidden,
        Direction.Adam adam,
        Schedule.Shaped adamSchedule,
        Clip clip,
        Matrices.Weights weights) {

    /** Refuses what cannot be trained. */
    static Algorithm of(Configuration c) {
        Matrices m = c.matrices();
        Configuration.AdamW a = c.adamw();
        Course common = Course.of("matrices", m, c.steps());
        Map<String, Course> hidden = m.groups().isEmpty() ? Map.of() : hidden(c, common);
        in("matrices", () -> representation(m.weights(), false));
        Schedule.Shaped adamSchedule = in("adamw", () -> a.fall().from(a.rate(), c.steps()));
        Direction.Adam adam = in("adamw", () -> adam(a.moments()));
        in("adamw", () -> new Space.Base(a.decay()));
        Clip clip = in("clip", () -> new Clip(c.clip().norm(), c.clip().value()));
        if (a.rate() * a.decay() >= 1) {
            throw new Refusal("adamw.rate " + a.rate() + " times adamw.decay " + a.decay()
                    + " is 1 or more, which would erase the weights; lower either");
        }
        Algorithm algorithm = new Algorithm(common, hidden, adam, adamSchedule, clip, m.weights());
        if (c.from().run() != null && algorithm.courses().stream().anyMatch(course -> course.radius() != 1)) {
            throw new Refusal("matrices.radius is set where a run starts, and this one continues from.run "
                    + c.from().run() + " with the norms it has there; leave it at 1");
        }
        int head = c.model().head();
        for (Outline outline : c.architecture().outlines()) {
            if (outline.hidden()) {
                View view = algorithm.of(outline.name()).view();
                view.of(outline.name(), outline.rows(), outline.cols(), head);
            }
        }
        return algorithm;
    }

    private static Map<String, Course> hidden(Configuration c, Course common) {
        List<String> names = Parameters.hidden(c.architecture());
        Groups groups = new Groups(c.matrices());
        groups.check(names);
        Map<List<String>, Course> known = new HashMap<>(Map.of(List.of(), common));
        Map<String, Course> hidden = new LinkedHashMap<>();
        for (String name : names) {
            hidden.put(
                    name,
                    known.computeIfAbsent(
                            groups.of(name),
                            matched -> Course.of(Groups.key(matched), groups.over(matched), c.steps())));
        }
        return hidden;
    }

    /** What a hidden matrix gets, or a part of one. */
    public Course of(String matrix) {
        return hidden.getOrDefault(View.whole(matrix), common);
    }

    /** What the hidden matrices get, one after the other, or what all of them get. */
    public Collection<Course> courses() {
        return hidden.isEmpty() ? List.of(common) : hidden.values();
    }

    static Direction direction(Update u) {
        Update.Moments m = u.moments();
        if (u.nesterov() && !u.direction().looksAhead()) {
            throw new Refusal("matrices.nesterov is true, and " + Words.label(u.direction())
                    + " has no momentum to look ahead with; set it to false");
        }
        if (u.shapeFactor() != ShapeFactor.NONE && !u.direction().shaped()) {
            throw new Refusal("matrices.shape_factor is " + Words.label(u.shapeFactor()) + ", and the norm of "
                    + Words.label(u.direction()) + " follows from the shape already; set it to none");
        }
        return switch (u.direction()) {
            case MUON -> muon(u);
            case ADAM -> adam(m);
            case SGD -> new Direction.Sgd(u.momentum(), u.nesterov());
            case LION -> new Lion(m.beta1(), m.beta2());
            case SIGNUM -> new Signum(u.momentum(), u.nesterov());
            case NORMUON -> new NorMuon(muon(u), m.beta2(), m.epsilon());
            case ADAMUON -> new AdaMuon(u.momentum(), u.nesterov(), iteration(u), m.beta2(), m.epsilon());
            case SOAP -> soap(m, u.gram());
        };
    }

    private static Direction.Muon muon(Update u) {
        return new Direction.Muon(u.momentum(), u.nesterov(), iteration(u), u.shapeFactor());
    }

    private static Iteration iteration(Update u) {
        Iteration iteration = Direction.Muon.iteration(u.coefficients(), u.schulzSteps());
        return u.bf16() ? iteration.inBf16() : iteration;
    }

    private static Soap soap(Update.Moments m, Update.Gram g) {
        return new Soap(m.beta1(), m.beta2(), m.epsilon(), g.shampooBeta(), g.preconditionFrequency(), g.largestSide());
    }

    private static Direction.Adam adam(Update.Moments m) {
        return new Direction.Adam(m.beta1(), m.beta2(), m.epsilon());
    }

    /**
     * How the network sees the hidden matrices.
     *
     * @param separateWeights whether the engine keeps weights apart from masters anyway: there double masters are
     *     nearly free, and {@code auto} stands for them
     */
    public Representation representation(boolean separateWeights) {
        return representation(weights, separateWeights);
    }

    private static Representation representation(Matrices.Weights w, boolean separateWeights) {
        boolean exact = switch (w.master()) {
            case AUTO -> separateWeights;
            case FLOAT32 -> false;
            case FLOAT64 -> true;
        };
        return new Representation(exact, w.grid() == 0 ? Format.FULL_GRID : w.grid(), w.placebo());
    }

    /** Says which group of keys a value was refused in. */
    static <T> T in(String group, Supplier<T> value) {
        try {
            return value.get();
        } catch (Refusal | EngineException e) {
            throw in(group, e);
        }
    }

    static Refusal in(String group, RuntimeException e) {
        String message = e.getMessage();
        return new Refusal(message.startsWith(group) ? message : group + ": " + message, e);
    }
}
