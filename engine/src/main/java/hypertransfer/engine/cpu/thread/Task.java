package hypertransfer.engine.cpu.thread;

/** Work that falls into pieces, none of which touches what another writes. */
public interface Task {
    /** @param worker which thread this is, from 0: the owner of that part of the scratch memory */
    void piece(int piece, int worker);
}
