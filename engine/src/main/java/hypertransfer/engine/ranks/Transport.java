package hypertransfer.engine.ranks;

/** What the user wants tensors to be carried by between ranks. */
public enum Transport {
    /** NCCL where every rank has it and a card of its own, MPI elsewhere. */
    AUTO,
    MPI,
    NCCL
}
