package hypertransfer.train.network;

import hypertransfer.core.Refusal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/**
 * Which rank owns what: it adds the gradients of its pieces, moves them, and keeps their masters and optimizer state.
 * Hidden matrices are owned whole, since Newton-Schulz needs them whole, and balanced by its work; embedding and head
 * are owned by rows; gains, which cost nothing, go round. It follows from the shapes and the number of ranks only.
 *
 * @param pieces of all ranks, in the order of parameters and of their rows
 */
public record Ownership(int ranks, List<Piece> pieces) {
    /** An engine's vectors must not end at other places than in the whole: their ends may be rounded in another way. */
    private static final int LANES = 64;

    /**
     * Some rows of a parameter.
     *
     * @param parameter its number in the order of all parameters
     */
    public record Piece(int parameter, Outline whole, int from, int rows, int owner) {
        public boolean isWhole() {
            return rows == whole.rows();
        }

        public long size() {
            return (long) rows * whole.cols();
        }
    }

    /**
     * One rank's part in training a network.
     *
     * @param outlines all parameters
     * @param micros micro-batches in a step, of all ranks together
     */
    public record Share(List<Outline> outlines, Ownership ownership, int rank, int micros) {
        public Share(Architecture architecture, int ranks, int rank, int micros) {
            this(architecture.outlines(), Ownership.of(architecture.outlines(), ranks), rank, micros);
        }

        public List<Piece> own() {
            return ownership.of(rank);
        }

        /**
         * Whether gradients are added up apart from where the backward pass leaves them: a micro-batch's gradient is
         * complete before it is added, so that the sum does not depend on who computed it.
         */
        public boolean sums() {
            return micros > 1;
        }
    }

    /** Refuses more ranks than there are hidden matrices: some would own none, and wait for the others. */
    public static Ownership of(List<Outline> all, int ranks) {
        int hidden = (int) all.stream().filter(Outline::hidden).count();
        if (ranks > hidden) {
            throw new Refusal("there are " + ranks + " ranks, and the network has " + hidden
                    + " hidden matrices to share among them; start at most " + hidden + " ranks");
        }
        int[] owners = balance(all, ranks);
        List<Piece> pieces = new ArrayList<>();
        for (int p = 0; p < all.size(); p++) {
            Outline whole = all.get(p);
            if (owners[p] >= 0) {
                pieces.add(new Piece(p, whole, 0, whole.rows(), owners[p]));
            } else {
                rows(p, whole, ranks, pieces);
            }
        }
        return new Ownership(ranks, List.copyOf(pieces));
    }

    /** The costliest matrix first, each to the rank that has the least work so far; -1 for what is owned by rows. */
    private static int[] balance(List<Outline> all, int ranks) {
        int[] owners = new int[all.size()];
        double[] load = new double[ranks];
        int gains = 0;
        for (int p = 0; p < all.size(); p++) {
            owners[p] = all.get(p).rows() == 1 ? gains++ % ranks : -1;
        }
        for (int p : IntStream.range(0, all.size())
                .filter(p -> all.get(p).hidden())
                .boxed()
                .sorted(Comparator.comparingDouble(p -> -all.get(p).schulz()))
                .toList()) {
            owners[p] = IntStream.range(0, ranks)
                    .boxed()
                    .min(Comparator.comparingDouble(r -> load[r]))
                    .orElseThrow();
            load[owners[p]] += all.get(p).schulz();
        }
        return owners;
    }

    private static void rows(int parameter, Outline whole, int ranks, List<Piece> pieces) {
        int unit = 1; // the fewest rows that are whole vectors
        while ((long) unit * whole.cols() % LANES != 0) {
            unit *= 2;
        }
        int units = (whole.rows() + unit - 1) / unit, from = 0;
        for (int rank = 0; rank < ranks; rank++) {
            int to = Math.min(whole.rows(), (int) ((long) units * (rank + 1) / ranks) * unit);
            if (to > from) {
                pieces.add(new Piece(parameter, whole, from, to - from, rank));
            }
            from = to;
        }
    }

    public List<Piece> of(int rank) {
        return pieces.stream().filter(piece -> piece.owner == rank).toList();
    }

    /** How even it is, for people: the largest share of a rank over the mean. */
    public String balance() {
        double work = uneven(piece -> piece.whole.hidden() ? piece.whole.schulz() : 0);
        double numbers = uneven(Piece::size);
        return String.format(
                Locale.ROOT,
                "%d ranks: the busiest has %.2f times the mean of Newton-Schulz's work, the fullest %.2f times the mean"
                        + " of masters and state",
                ranks,
                work,
                numbers);
    }

    private double uneven(ToDoubleFunction<Piece> cost) {
        double[] sums = new double[ranks];
        pieces.forEach(piece -> sums[piece.owner] += cost.applyAsDouble(piece));
        return Arrays.stream(sums).max().orElseThrow()
                / Arrays.stream(sums).average().orElseThrow();
    }
}
