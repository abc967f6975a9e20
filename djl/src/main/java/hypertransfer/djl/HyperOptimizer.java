package hypertransfer.djl;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;
import ai.djl.nn.Block;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.ParameterTracker;
import ai.djl.training.tracker.Tracker;
import hypertransfer.core.Clip;
import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Step;
import hypertransfer.djl.Checkpoint.Saved;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * Every optimizer of the paper, for a training loop of DJL:
 *
 * <pre>{@code
 * .optOptimizer(HyperOptimizer.muonH().setBlock(model.getBlock()).optLearningRateTracker(tracker).build())
 * }</pre>
 *
 * <p>The + forms take the gradient at the target's representative, a multiple of the matrix. DJL evaluates the model at
 * whatever its parameters hold, so the optimizer leaves the representative there at the end of each update and goes back
 * to the matrix itself at the start of the next. Training, validation and {@code model.save} all see the
 * representative; {@link #toCarrier} and {@link #toRepresentative} go from one to the other.
 *
 * <p>A parameter that cannot be moved (a NaN, a zero matrix on a Hyperball, a rate that would erase it) stops the step
 * with a {@link Refusal} that names it, which is a {@link hypertransfer.core.Diverged} where the training ran away.
 * Parameters before it have moved by then: continue from what was saved before.
 *
 * <p>Threads: {@link #update} may be called at the same time for different parameters or devices. Nothing else may overlap
 * with it or with each other: reading {@link #last}, saving, loading, closing and moving between carrier and representative
 * belong between two steps.
 *
 * <p>The state is freed with the model, or before it by {@link #close}.
 */
public final class HyperOptimizer extends Optimizer implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(HyperOptimizer.class.getName());

    private record Key(String parameterId, int part, String name, Device device) {}

    private final Routes routes;
    private final Clipping clipping;
    private final Map<Key, Slot> slots = new ConcurrentHashMap<>();
    private final Map<String, Saved> loaded = new ConcurrentHashMap<>();
    private NDManager shelf; // holds what was loaded until the slots have it; null where nothing was
    private boolean printed;
    private boolean closed;

    /**
     * An optimizer that clips nothing.
     *
     * @param routes which rule trains which parameter
     */
    public HyperOptimizer(Routes routes) {
        this(routes, Clip.NONE);
    }

    /**
     * An optimizer that clips gradients as the target sees them: after the transfer's scale, so that a transferred run clips where
     * its target does. A limit of the norm is one of all trained parameters together; it reads their gradients where
     * the block has them, so it is for one device.
     *
     * @param routes which rule trains which parameter
     * @param clip the most that gradients may be
     */
    public HyperOptimizer(Routes routes, Clip clip) {
        super(new Nothing());
        this.routes = routes;
        this.clipping = new Clipping(clip);
    }

    /** {@return a builder of Muon: orthogonalised momentum with decoupled weight decay, for hidden matrices} */
    public static Builder muon() {
        return new Builder(Direction.muon(), Mode.BASE);
    }

    /** {@return a builder of MuonH: orthogonalised momentum at fixed norm, for hidden matrices; the rate is an angle} */
    public static Builder muonH() {
        return new Builder(Direction.muon(), Mode.HYPERBALL);
    }

    /** {@return which rule trains which parameter; the table is logged before the first update} */
    public Routes routes() {
        return routes;
    }

    @Override
    public void update(String parameterId, NDArray weight, NDArray grad) {
        open();
        Route route = routes.route(parameterId);
        print();
        clipping.begin(parameterId, weight.getDevice(), this::gradientNorm);
        List<String> names = names(route);
        for (int k = 0; k < names.size(); k++) {
            Slot slot = slot(route, parameterId, k, weight);
            slot.step(parameterId, weight, grad, clipping);
            if (slot.stepsHere() == 2) {
                forget(names.get(k)); // by now every device has opened its slot from it
            }
        }
        if (weight.hasGradient()) {
            // engines add to gradients, and DJL leaves it to the optimizer to start them afresh
            try (NDArray gradient = weight.getGradient()) {
                gradient.subi(gradient);
            }
        }
    }

    private Slot slot(Route route, String parameterId, int part, NDArray weight) {
        Key name = new Key(parameterId, part, names(route).get(part), weight.getDevice());
        return slots.computeIfAbsent(name, key -> {
            Saved saved = loaded.get(key.name);
            return saved == null ? Slot.start(route, key.name, part, weight) : Slot.restore(route, part, weight, saved);
        });
    }

    /** Of all gradients that stand ready, each after its scale. */
    private double gradientNorm() {
        double squares = 0;
        for (Map.Entry<String, NDArray> entry : routes.arrays().entrySet()) {
            Route route = routes.route(entry.getKey());
            NDArray weight = entry.getValue();
            if (!weight.hasGradient()) {
                throw new Refusal(
                        route.name() + " has no gradient on " + weight.getDevice() + ", where the block has it,"
                                + " so the norm of all gradients is unknown; train on that device, or clip by value");
            }
            try (NDArray whole = weight.getGradient()) {
                View view = route.rule().view();
                for (int k = 0; k < names(route).size(); k++) {
                    NDArray part = view.take(whole, k);
                    double norm = Measure.norm(part)
                            * slot(route, entry.getKey(), k, weight).gradientScale();
                    squares += norm * norm;
                    if (!view.plain()) {
                        part.close();
                    }
                }
            }
        }
        return Math.sqrt(squares);
    }

    /** {@return the norm of the last step's gradients and what clipping left of it; not numbers where nothing is clipped} */
    public Clip.Outcome clipped() {
        return clipping.outcome();
    }

    /**
     * What the last update did to each parameter: norms, rates, angle; on several devices, on one.
     *
     * @return by name, in the block's order
     */
    public Map<String, Step> last() {
        Map<String, Step> steps = new LinkedHashMap<>();
        if (!slots.isEmpty()) {
            routes.all().forEach(route -> names(route).forEach(name -> steps.put(name, null)));
            slots.forEach((key, slot) -> steps.put(key.name, slot.last()));
            steps.values().removeIf(Objects::isNull);
        }
        return steps;
    }

    /** The names of a parameter's parts: its own where it is whole. */
    private static List<String> names(Route route) {
        int parts = route.rule().view().parts(route.name(), route.shape());
        return IntStream.range(0, parts)
                .mapToObj(k -> View.name(route.name(), k, parts))
                .toList();
    }

    /** Puts the matrices themselves where the + forms have left their representatives, e.g. to save the model. */
    public void toCarrier() {
        started();
        slots.values().forEach(Slot::toCarrier);
    }

    /** Undoes {@link #toCarrier}; needed before training continues. */
    public void toRepresentative() {
        started();
        slots.values().forEach(Slot::toRepresentative);
    }

    /**
     * Saves all that the optimizer remembers: written beside the file and renamed, so that a crash leaves either the
     * old file or the new one. The model's parameters are the model's to save, at the same moment.
     *
     * @param file where to; a file that is there is replaced, a folder that is not there is made
     * @throws IOException if it cannot be written; what was there is still there
     * @throws Refusal between {@link #toCarrier} and {@link #toRepresentative}
     */
    public void save(Path file) throws IOException {
        started();
        Files.createDirectories(file.toAbsolutePath().getParent());
        Path beside = file.resolveSibling(file.getFileName() + ".part");
        try {
            try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(beside))) {
                save(out);
            }
            try (FileChannel channel = FileChannel.open(beside, StandardOpenOption.WRITE)) {
                channel.force(true);
            }
            Files.move(beside, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(beside); // there only where something failed
        }
    }

    /**
     * Saves all that the optimizer remembers. It is checked by a checksum when it is loaded.
     *
     * @param out where to; it is flushed and stays open
     * @throws IOException if the stream cannot take it
     * @throws Refusal between {@link #toCarrier} and {@link #toRepresentative}
     */
    public void save(OutputStream out) throws IOException {
        started();
        Map<String, Saved> saved = new LinkedHashMap<>();
        slots.forEach((key, slot) -> saved.putIfAbsent(key.name, slot.save()));
        Checkpoint.write(saved, out);
    }

    /**
     * Continues from a saved state; the model's parameters must be those of that moment, and the rules the same.
     *
     * @param file what {@link #save(Path)} wrote
     * @throws IOException if it cannot be read
     * @throws Refusal if it is not there, damaged, of another format version, model or rule; the optimizer is then as before
     */
    public void load(Path file) throws IOException {
        if (Files.notExists(file)) {
            throw new Refusal("there is no file " + file + "; give what save(Path) wrote");
        }
        try (InputStream in = new BufferedInputStream(Files.newInputStream(file))) {
            load(in);
        }
    }

    /**
     * Continues from a saved state, as {@link #load(Path)} does.
     *
     * @param in what {@link #save(OutputStream)} wrote; it stays open
     * @throws Refusal if it is damaged, cut short, of another format version, model or rule; the optimizer is then as
     *     before
     */
    public void load(InputStream in) {
        open();
        NDManager fresh = routes.shelf();
        try {
            Map<String, Saved> read = Checkpoint.read(in, fresh);
            fits(read);
            free();
            loaded.putAll(read);
            shelf = fresh;
        } catch (RuntimeException e) {
            fresh.close();
            throw e;
        }
    }

    private void fits(Map<String, Saved> read) {
        Set<String> names = routes.all().stream()
                .flatMap(route -> names(route).stream())
                .collect(Collectors.toCollection(TreeSet::new));
        if (!names.equals(read.keySet())) {
            throw new Refusal("the optimizer state is of the parameters " + new TreeSet<>(read.keySet())
                    + ", and the block trains " + names + "; load the state of this model, with the same ones frozen");
        }
        for (Route route : routes.all()) {
            Saved saved = read.get(names(route).getFirst());
            Rule rule = route.rule();
            String trained = Rule.text(saved.direction(), saved.transfer());
            if (!trained.equals(rule.toString())) {
                throw new Refusal(route.name() + " was trained with " + trained + ", and is routed to " + rule
                        + "; give the optimizer the rules it was saved with");
            }
            names(route).forEach(name -> Slot.fits(route, read.get(name)));
        }
    }

    /** Frees the native memory of the state and forgets it; after that the optimizer cannot be used. */
    @Override
    public void close() {
        free();
        closed = true;
    }

    private void open() {
        if (closed) {
            throw new IllegalStateException(
                    "the optimizer was closed, which freed its state; make a new one, and load a"
                            + " saved state to continue");
        }
    }

    private void free() {
        slots.values().forEach(Slot::close);
        slots.clear();
        loaded.clear();
        if (shelf != null) {
            shelf.close();
            shelf = null;
        }
    }

    private void forget(String name) {
        Saved saved = loaded.remove(name);
        if (saved != null) {
            saved.memory().forEach(NDArray::close);
        }
    }

    private void started() {
        open();
        if (slots.isEmpty()) {
            throw new Refusal("the optimizer has taken no step since it was made or loaded; take one first");
        }
    }

    private synchronized void print() {
        if (!printed) {
            printed = true;
            LOG.log(System.Logger.Level.INFO, () -> "parameters and their rules:%n%s".formatted(routes));
        }
    }

    /**
     * Makes an optimizer in DJL's manner. What is not a hidden matrix is trained by AdamW without weight decay, at the same rate
     * unless {@link #optRest} says otherwise.
     */
    public static final class Builder {
        private Direction direction;
        private Mode mode;
        private Block block;
        private Rate rate = Rate.of(Tracker.fixed(0.001f));
        private Rule rest;
        private double decay;
        private Clip clip = Clip.NONE;

        private Builder(Direction direction, Mode mode) {
            this.direction = direction;
            this.mode = mode;
        }

        /**
         * The block that is trained.
         *
         * @param trained for the names and shapes of its parameters; it may be initialised later
         * @return this
         */
        public Builder setBlock(Block trained) {
            block = trained;
            return this;
        }

        /**
         * The rate of hidden matrices.
         *
         * @param tracker of Muon the learning rate, 0.001 unless given; of MuonH an angle in radians
         * @return this
         */
        public Builder optLearningRateTracker(ParameterTracker tracker) {
            rate = Rate.of(tracker);
            return this;
        }

        /**
         * The weight decay of hidden matrices where they, or what they follow, are in a Base space.
         *
         * @param lambda zero or more; 0 unless given
         * @return this
         */
        public Builder optWeightDecays(float lambda) {
            decay = Double.parseDouble(Float.toString(lambda)); // 0.1f is 0.1
            return this;
        }

        /**
         * What hidden matrices are made to move against.
         *
         * @param other a direction of ours with its settings, or your own
         * @return this
         */
        public Builder optDirection(Direction other) {
            direction = other;
            return this;
        }

        /**
         * The algorithm of hidden matrices, e.g. {@link Mode#HYPERTRANSFER}.
         *
         * @param other instead of Base or Hyperball
         * @return this
         */
        public Builder optMode(Mode other) {
            mode = other;
            return this;
        }

        /**
         * The rule of everything that is no hidden matrix.
         *
         * @param rule e.g. {@link Rule#adamW}
         * @return this
         */
        public Builder optRest(Rule rule) {
            rest = rule;
            return this;
        }

        /**
         * The most that every number of a gradient may be, as DJL's own optimizers clip.
         *
         * @param value above zero
         * @return this
         */
        public Builder optClipGrad(float value) {
            clip = new Clip(0, value);
            return this;
        }

        /** {@return the optimizer} */
        public HyperOptimizer build() {
            if (block == null) {
                throw new Refusal("the optimizer has no block; give it one: .setBlock(model.getBlock())");
            }
            if (mode == Mode.HYPERBALL && decay > 0) {
                throw new Refusal(
                        "a Hyperball has no weight decay, and " + decay + " is given; leave optWeightDecays out");
            }
            Rule hidden = new Rule(direction, mode.transfer(decay), rate);
            return new HyperOptimizer(new Routes(block, hidden, rest == null ? Rule.adamW(rate, 0) : rest), clip);
        }
    }

    /** DJL's constructor asks for a builder; none of its options is ours. */
    private static final class Nothing extends OptimizerBuilder<Nothing> {
        @Override
        protected Nothing self() {
            return this;
        }
    }
}
