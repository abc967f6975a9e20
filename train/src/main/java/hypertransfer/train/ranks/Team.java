package hypertransfer.train.ranks;

import hypertransfer.core.Refusal;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.ranks.Exchange;
import hypertransfer.engine.ranks.Ranks;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Ownership;
import hypertransfer.train.network.Ownership.Share;
import hypertransfer.train.network.Parameter;
import hypertransfer.train.network.Parameters;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * One network trained by all ranks. A step's gradient is the sum over its micro-batches in their order, whoever computed
 * them: each rank sends every owner its gradient of what that one owns, and the owner adds what it receives in the order
 * of micro-batches. So nothing that is computed depends on the number of ranks. Gradients are sent while the backward pass
 * computes those of the blocks before.
 */
public final class Team {
    private final Engine engine;
    private final Ranks ranks;
    public final Exchange exchange;
    private final Parameters parameters;
    public final Share share;
    private final List<Tensor> gradients;
    private final List<Tensor> sums;
    private final double[] one;
    private final double[] minusOne;
    // only among several ranks: by owner, the tensors that are sent to it, and the memory they travel in
    private final Map<Integer, Group> groups = new TreeMap<>(); // by the part of the backward pass that completes them
    private final List<List<Tensor>> weights = new ArrayList<>();
    private final List<Tensor> own; // this rank's gradients of what it owns
    private final List<Tensor> received = new ArrayList<>(); // what one other rank sent
    private final List<List<Tensor>> losses = new ArrayList<>();
    private List<MemorySegment> fresh;
    private List<MemorySegment> lost;
    private long taken; // bytes of all that travels

    private static final class Group {
        private final List<List<Tensor>> sent; // by owner
        private final List<Tensor> received = new ArrayList<>();
        private List<MemorySegment> out;
        private List<MemorySegment> in;
        private Exchange.Delivery delivery;

        Group(int size) {
            sent = Stream.generate(() -> (List<Tensor>) new ArrayList<Tensor>())
                    .limit(size)
                    .toList();
        }
    }

    /** Declares what the exchange needs; {@link #start} it after the engine's commit. */
    public Team(Engine engine, Ranks ranks, Exchange exchange, Parameters parameters) {
        this.engine = engine;
        this.ranks = ranks;
        this.exchange = exchange;
        this.parameters = parameters;
        share = parameters.share;
        gradients = parameters.gradients();
        sums = parameters.own().stream().map(Parameter::gradient).toList();
        own = share.own().stream().map(parameters::gradient).toList();
        one = sums.stream().mapToDouble(sum -> 1).toArray();
        minusOne = sums.stream().mapToDouble(sum -> -1).toArray();
        if (exchange.several()) {
            for (int owner = 0; owner < ranks.size(); owner++) {
                List<Ownership.Piece> pieces = share.ownership().of(owner);
                weights.add(pieces.stream().map(parameters::weight).toList());
                for (Ownership.Piece piece : pieces) {
                    group(piece).sent.get(owner).add(parameters.gradient(piece));
                }
            }
            for (int k = 0; k < sums.size(); k++) {
                Tensor sum = sums.get(k);
                received.add(engine.tensor(Role.GRADIENT, "received." + sum.name(), sum.rows(), sum.cols()));
                group(share.own().get(k)).received.add(received.get(k));
            }
        }
    }

    /**
     * This rank's share of a network, if so many ranks can have the same number of a step's micro-batches.
     *
     * @param micros micro-batches in a step, {@code model.accumulation}
     */
    public static Share share(Ranks ranks, Architecture architecture, int micros) {
        int size = ranks.size();
        if (micros % size != 0) {
            String fit = IntStream.rangeClosed(1, micros)
                    .filter(n -> micros % n == 0)
                    .mapToObj(String::valueOf)
                    .collect(Collectors.joining(", "));
            throw new Refusal("a step has " + micros + " micro-batches (model.accumulation), which " + size
                    + " ranks cannot share evenly; start " + fit + " ranks, or set model.accumulation to a multiple of "
                    + size);
        }
        return new Share(architecture, size, ranks.rank(), micros);
    }

    private Group group(Ownership.Piece piece) {
        return groups.computeIfAbsent(parameters.completed(piece.whole()), _ -> new Group(ranks.size()));
    }

    /** Takes the memory that messages travel in, and returns how many bytes that is. */
    public long start() {
        if (exchange.several()) {
            for (Group group : groups.values()) {
                group.out = buffers(owner -> owner == ranks.rank() ? 0 : bytes(group.sent.get(owner)));
                group.in = buffers(peer -> peer == ranks.rank() ? 0 : bytes(group.received));
            }
            fresh = buffers(owner -> bytes(weights.get(owner)));
        }
        return taken;
    }

    private List<MemorySegment> buffers(ToLongFunction<Integer> bytes) {
        List<MemorySegment> buffers = new ArrayList<>();
        for (int rank = 0; rank < ranks.size(); rank++) {
            buffers.add(exchange.buffer(bytes.applyAsLong(rank)));
            taken += buffers.getLast().byteSize();
        }
        return buffers;
    }

    private static long bytes(List<Tensor> tensors) {
        return tensors.stream().mapToLong(Tensor::bytes).sum();
    }

    // ------------------------------------------------------------------- steps

    /** Before a step's first micro-batch. */
    public void zero() {
        engine.zero(gradients);
        if (share.sums()) {
            engine.zero(sums);
        }
    }

    /** Whether gradients are sent to others. */
    public boolean exchanges() {
        return share.sums() && exchange.several();
    }

    /** Begins to send the gradients that this part of the backward pass completed. */
    public void send(int completed) {
        Group group = groups.get(completed);
        if (group == null) { // one process, or a tied head, which is complete with the embedding
            return;
        }
        for (int owner = 0; owner < ranks.size(); owner++) {
            if (owner != ranks.rank()) {
                engine.pack(group.sent.get(owner), group.out.get(owner));
            }
        }
        group.delivery = exchange.begin(group.out, group.in);
    }

    /** After a micro-batch of every rank: adds the gradients that stand ready to the sums, in the order of ranks. */
    public void add() {
        if (!share.sums()) {
            return;
        }
        send(-1);
        groups.values().forEach(group -> group.delivery.await());
        for (int peer = 0; peer < ranks.size(); peer++) {
            if (peer == ranks.rank()) {
                add(own);
            } else {
                int from = peer;
                groups.values().forEach(group -> engine.unpack(group.in.get(from), group.received));
                add(received);
            }
        }
        engine.zero(gradients);
    }

    /** sum = 1 sum - (-1) term, which is rounded as sum + term. */
    private void add(List<Tensor> terms) {
        engine.motion().move(sums, terms, one, minusOne);
    }

    /** Brings every piece's weight from its owner to all. */
    public void gather() {
        gather(weights, fresh);
    }

    /** Brings what the micro-batches of a step left behind, one tensor each, to all. */
    public void gather(List<Tensor> micros) {
        if (exchange.several() && lost == null) {
            for (int rank = 0; rank < ranks.size(); rank++) {
                int first = rank;
                losses.add(IntStream.range(0, micros.size())
                        .filter(micro -> micro % ranks.size() == first)
                        .mapToObj(micros::get)
                        .toList());
            }
            lost = buffers(rank -> bytes(losses.get(rank)));
        }
        gather(losses, lost);
    }

    private void gather(List<List<Tensor>> tensors, List<MemorySegment> buffers) {
        if (exchange.several()) {
            engine.pack(tensors.get(ranks.rank()), buffers.get(ranks.rank()));
            exchange.gather(buffers);
            for (int owner = 0; owner < ranks.size(); owner++) {
                if (owner != ranks.rank()) {
                    engine.unpack(buffers.get(owner), tensors.get(owner));
                }
            }
        }
    }

    /**
     * The numbers of every hidden matrix, in their order, from those of this rank's own.
     *
     * @param each how many there are of each
     */
    public double[] hidden(double[] own, int[] each) {
        List<double[]> all = ranks.numbers(own);
        int[] next = new int[ranks.size()];
        List<Ownership.Piece> hidden = share.ownership().pieces().stream()
                .filter(piece -> piece.whole().hidden())
                .toList();
        double[] values = new double[Arrays.stream(each).sum()];
        for (int k = 0, at = 0; k < hidden.size(); at += each[k++]) {
            int owner = hidden.get(k).owner();
            System.arraycopy(all.get(owner), next[owner], values, at, each[k]);
            next[owner] += each[k];
        }
        return values;
    }

    /** The sum of one number of each rank, in their order. */
    public double sum(double own) {
        return ranks.numbers(own).stream().mapToDouble(numbers -> numbers[0]).sum();
    }

    /**
     * Values that are computed by turns, number i by rank i modulo their number.
     *
     * @param own those of this rank
     */
    public double[] turns(double[] own, int count) {
        List<double[]> all = ranks.numbers(own);
        double[] values = new double[count];
        Arrays.setAll(values, i -> all.get(i % ranks.size())[i / ranks.size()]);
        return values;
    }

    // ------------------------------------------------------------------- files

    /**
     * Copies a tensor that lies in pieces at its owners, number after number as they are.
     *
     * @param own this rank's piece of it, or null
     * @param to the host's memory at rank 0, which gets the whole; what it is elsewhere does not matter
     */
    public void whole(Tensor own, MemorySegment to) {
        if (ranks.size() == 1) {
            engine.store(own, to);
            return;
        }
        byte[] mine = new byte[own == null ? 0 : Math.toIntExact(own.bytes())];
        if (own != null) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment bytes = arena.allocate(mine.length, 64);
                engine.store(own, bytes);
                MemorySegment.copy(bytes, ValueLayout.JAVA_BYTE, 0, mine, 0, mine.length);
            }
        }
        long at = 0;
        for (byte[] part : ranks.collect(mine)) { // rows are owned in the order of ranks
            MemorySegment.copy(part, 0, to, ValueLayout.JAVA_BYTE, at, part.length);
            at += part.length;
        }
    }

    /**
     * Writes this rank's rows of a tensor that is known whole.
     *
     * @param parameter the number of the parameter whose rows they are
     * @param bytes its numbers in the tensor's own format; empty where they have another
     * @param values its numbers, asked for where there are no bytes
     * @param own this rank's piece of it, or null
     */
    public void write(int parameter, Optional<MemorySegment> bytes, Supplier<double[]> values, Tensor own) {
        for (Ownership.Piece piece : share.own()) {
            if (piece.parameter() == parameter && bytes.isPresent()) {
                long row = (long) piece.whole().cols() * own.numberBytes();
                MemorySegment all = bytes.get();
                engine.load(piece.isWhole() ? all : all.asSlice(piece.from() * row, piece.rows() * row), own);
            } else if (piece.parameter() == parameter) {
                int cols = piece.whole().cols(), from = piece.from() * cols;
                double[] all = values.get();
                engine.write(own, piece.isWhole() ? all : Arrays.copyOfRange(all, from, from + piece.rows() * cols));
            }
        }
    }
}
