package hypertransfer.engine.cpu.thread;

/** Work that falls into pieces, none of which touches what another writes. Kept and run again, so that a step makes no objects. */
public interface Task {
    /** @param worker which thread this is, from 0: the owner of that part of the scratch memory */
    void piece(int piece, int worker);
}
