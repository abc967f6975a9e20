package hypertransfer.train.network;

import java.util.List;

/**
 * One rank's part in training a network.
 *
 * @param outlines all parameters
 * @param own the pieces that this rank owns
 * @param micros micro-batches in a step, of all ranks together
 */
public record Share(List<Outline> outlines, Ownership ownership, int rank, List<Ownership.Piece> own, int micros) {
    public Share(Architecture architecture, int ranks, int rank, int micros) {
        this(architecture.outlines(), Ownership.of(architecture.outlines(), ranks), rank, micros);
    }

    private Share(List<Outline> outlines, Ownership ownership, int rank, int micros) {
        this(outlines, ownership, rank, ownership.of(rank), micros);
    }

    /** Of one process. */
    public static Share whole(Architecture architecture, int micros) {
        return new Share(architecture, 1, 0, micros);
    }

    /**
     * Whether gradients are added up apart from where the backward pass leaves them: a micro-batch's gradient is
     * complete before it is added, so that the sum does not depend on who computed it.
     */
    public boolean sums() {
        return micros > 1;
    }
}
