package hypertransfer.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.Block;
import ai.djl.nn.Parameter;
import ai.djl.util.Pair;
import hypertransfer.core.Refusal;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import java.util.stream.Collectors;

/**
 * Which rule trains which parameter. Hidden matrices go to one rule, everything else to another: whatever is not a matrix,
 * biases, gains, embeddings (a name with {@code embed}) and the head (a matrix of that name, or else the last one). A
 * choice by name comes before all of that.
 *
 * <p>Shapes are known when the block is initialised, so the table is made when it is first asked for. Any number of threads
 * may ask.
 */
public final class Routes {
    private static final String HIDDEN = "hidden matrix";
    /** head, head.weight, lm_head_weight, but not headwise or multi_head_attention_weight. */
    private static final Pattern HEAD = Pattern.compile("(?i)(.*[^a-z])?head([^a-z]+weight)?");

    private record Choice(Pattern name, Rule rule) {}

    private final Block block;
    private final Rule hidden;
    private final Rule rest;
    private final List<Choice> choices;
    private Map<String, Route> byId;

    /**
     * Routes without choices by name.
     *
     * @param block the block that is trained, for the names and shapes of its parameters
     * @param hidden the rule of hidden matrices
     * @param rest the rule of everything else
     */
    public Routes(Block block, Rule hidden, Rule rest) {
        this(block, hidden, rest, List.of());
    }

    private Routes(Block block, Rule hidden, Rule rest, List<Choice> choices) {
        this.block = block;
        this.hidden = hidden;
        this.rest = rest;
        this.choices = choices;
    }

    /**
     * The same routes except for the parameters whose whole name matches; of several choices the first match wins.
     *
     * @param regex a regular expression for names as the routing table shows them
     * @param rule how to train what matches
     * @return the changed routes; asked for a table, they refuse an expression that matches no parameter
     * @throws Refusal if it is no regular expression
     */
    public Routes choose(String regex, Rule rule) {
        List<Choice> more = new ArrayList<>(choices);
        try {
            more.add(new Choice(Pattern.compile(regex), rule));
        } catch (PatternSyntaxException e) {
            throw new Refusal(
                    "'" + regex + "' is not a regular expression: " + e.getDescription()
                            + "; use Pattern.quote for a name with special characters",
                    e);
        }
        return new Routes(block, hidden, rest, List.copyOf(more));
    }

    /**
     * The routes of all parameters that are trained.
     *
     * @return one route per parameter, in the block's order
     * @throws Refusal if the block is not initialised yet, or a choice matches no parameter
     */
    public Collection<Route> all() {
        return byId().values();
    }

    /** The table, one line per parameter. */
    @Override
    public String toString() {
        String line =
                "%-" + width(Route::name) + "s  %-" + width(Route::shape) + "s  %-" + width(Route::why) + "s  %s%n";
        return all().stream()
                .map(route -> line.formatted(route.name(), route.shape(), route.why(), route.rule()))
                .collect(Collectors.joining());
    }

    private int width(Function<Route, Object> column) {
        return all().stream()
                .mapToInt(route -> column.apply(route).toString().length())
                .max()
                .orElse(1);
    }

    /** The route of the parameter that DJL calls by this id. */
    Route route(String parameterId) {
        Route route = byId().get(parameterId);
        if (route == null) {
            throw new Refusal("parameter " + parameterId + " is not one of the block's " + byId().size()
                    + " trained parameters; give the optimizer the block that is trained, after freezing what is not");
        }
        return route;
    }

    /** The arrays of the trained parameters, by the ids that DJL has for them. */
    Map<String, NDArray> arrays() {
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        for (Parameter parameter : block.getParameters().values()) {
            if (byId().containsKey(parameter.getId())) {
                arrays.put(parameter.getId(), parameter.getArray());
            }
        }
        return arrays;
    }

    /** A manager whose arrays live in the computer's own memory and are freed with the block's at the latest. */
    NDManager shelf() {
        return block.getParameters().valueAt(0).getArray().getManager().newSubManager(Device.cpu());
    }

    private synchronized Map<String, Route> byId() {
        if (byId == null) {
            byId = resolve();
        }
        return byId;
    }

    private Map<String, Route> resolve() {
        Map<String, Parameter> trained = new LinkedHashMap<>();
        Set<String> ids = new LinkedHashSet<>();
        for (Pair<String, Parameter> pair : block.getParameters()) {
            // a parameter used twice is one parameter, under its first name
            if (pair.getValue().requiresGradient() && ids.add(pair.getValue().getId())) {
                if (!pair.getValue().isInitialized()) {
                    throw new Refusal(
                            "parameter " + pair.getKey() + " has no values yet; initialise the trainer first");
                }
                trained.put(pair.getKey(), pair.getValue());
            }
        }
        for (Choice choice : choices) {
            if (trained.keySet().stream()
                    .noneMatch(name -> choice.name().matcher(name).matches())) {
                throw new Refusal("no parameter has the name '" + choice.name() + "'; the names are "
                        + String.join(", ", trained.keySet()));
            }
        }
        String head = head(trained);
        Map<String, Route> routes = new LinkedHashMap<>();
        trained.forEach((name, parameter) -> routes.put(parameter.getId(), route(name, parameter, head)));
        return routes;
    }

    private Route route(String name, Parameter parameter, String head) {
        Shape shape = parameter.getArray().getShape();
        for (Choice choice : choices) {
            if (choice.name().matcher(name).matches()) {
                return new Route(name, shape, choice.rule(), "chosen by name");
            }
        }
        String why = name.equals(head) ? "head" : kind(name, parameter);
        return new Route(name, shape, why.equals(HIDDEN) ? hidden : rest, why);
    }

    /** The matrix that is called so, or else the last one. */
    private static String head(Map<String, Parameter> trained) {
        List<String> matrices = trained.entrySet().stream()
                .filter(entry -> kind(entry.getKey(), entry.getValue()).equals(HIDDEN))
                .map(Map.Entry::getKey)
                .toList();
        String last = matrices.isEmpty() ? null : matrices.getLast();
        return matrices.stream()
                .filter(name -> HEAD.matcher(name).matches())
                .findFirst()
                .orElse(last);
    }

    private static String kind(String name, Parameter parameter) {
        return switch (parameter.getType()) {
            case BIAS -> "bias";
            case GAMMA, BETA -> "gain";
            case WEIGHT, OTHER, RUNNING_MEAN, RUNNING_VAR -> {
                if (parameter.getArray().getShape().dimension() != 2) {
                    yield "not a matrix";
                }
                yield name.toLowerCase(Locale.ROOT).contains("embed") ? "embedding" : HIDDEN;
            }
        };
    }
}
