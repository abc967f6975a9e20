package hypertransfer.engine.cpu;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.Stopped;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntConsumer;

/**
 * A fixed set of threads, the caller among them, that take the pieces of one task after the other. Which thread takes
 * which piece is left to chance; what a piece computes is not. Only one thread at a time may call {@link #run}.
 */
final class Pool implements AutoCloseable {
    /** Work that falls into pieces, none of which touches what another writes. */
    interface Task {
        /** @param worker which thread this is, from 0: the owner of that part of the scratch memory */
        void piece(int piece, int worker);
    }

    /** Operations follow each other within microseconds, so a thread without work looks again a while before it sleeps. */
    private static final int SPINS = 4_000;

    /** So few chunks of rows that their partial sums cost little, and enough for the cores of a desktop. */
    private static final int MOST_CHUNKS = 64, LEAST_ROWS = 8;

    private static final int BITS = 20;
    private static final int MASK = (1 << BITS) - 1;

    /** The round (24 bits), how many pieces it has (20) and the next one to take (20): one word, so that a thread that
     * comes late never takes a piece of a later task by an older count. */
    private final AtomicLong tickets = new AtomicLong();

    private final AtomicInteger finished = new AtomicInteger();
    private final Thread[] threads;
    private final boolean[] asleep;
    private Task task;
    private volatile boolean stopped;
    private volatile Throwable failure;
    private volatile boolean closed;
    private volatile Thread waiting;

    /** As many threads as {@code ht.threads} says, or as there are cores. */
    static int threads() {
        String property = System.getProperty("ht.threads");
        if (property == null) {
            return Runtime.getRuntime().availableProcessors();
        }
        try {
            return Integer.parseInt(property);
        } catch (NumberFormatException e) {
            throw new EngineException("ht.threads is " + property + "; it must be a number of threads", e);
        }
    }

    Pool(int size) {
        if (size < 1) {
            throw new EngineException(
                    "the cpu engine cannot run on " + size + " threads; set -Dht.threads to 1 or more");
        }
        threads = new Thread[size];
        asleep = new boolean[size];
        for (int worker = 1; worker < size; worker++) {
            int self = worker;
            threads[worker] =
                    Thread.ofPlatform().daemon().name("ht-cpu-" + worker).start(() -> work(self));
        }
    }

    int size() {
        return threads.length;
    }

    /** Returns when all pieces are done, or throws {@link Stopped} when those are that had begun as the caller was told to. */
    void run(int pieces, Task next) {
        if (pieces == 1 || threads.length == 1) {
            for (int piece = 0; piece < pieces; piece++) {
                if (Stopped.wished()) {
                    throw new Stopped();
                }
                next.piece(piece, 0);
            }
            return;
        }
        if (pieces > MASK) {
            throw new EngineException(pieces + " pieces of work; at most " + MASK + " can be handed out");
        }
        task = next;
        finished.set(0);
        stopped = false;
        long round = (tickets.get() >>> 2 * BITS) + 1;
        tickets.set(round << 2 * BITS | (long) pieces << BITS);
        wake();
        while (take(0)) {}
        for (int spin = 0; finished.get() < pieces; spin++) {
            if (spin < SPINS) {
                Thread.onSpinWait();
            } else {
                waiting = Thread.currentThread();
                if (finished.get() < pieces) {
                    LockSupport.park(this);
                }
                waiting = null;
            }
        }
        if (failure != null) {
            Throwable cause = failure;
            failure = null;
            throw new EngineException("a piece of work failed on the cpu engine: " + cause, cause);
        }
        if (stopped) {
            throw new Stopped();
        }
    }

    /** Does something to every row. Rows are cut only by their number, so that sums over them are the same on any machine. */
    void each(int rows, IntConsumer row) {
        int chunk = chunk(rows);
        run(chunks(rows), (piece, worker) -> {
            for (int n = piece * chunk; n < Math.min(rows, (piece + 1) * chunk); n++) {
                row.accept(n);
            }
        });
    }

    /** The rows of a chunk. */
    static int chunk(int rows) {
        return Math.max(LEAST_ROWS, (rows + MOST_CHUNKS - 1) / MOST_CHUNKS);
    }

    static int chunks(int rows) {
        return (rows + chunk(rows) - 1) / chunk(rows);
    }

    private void work(int self) {
        int spin = 0;
        while (!closed) {
            if (take(self)) {
                spin = 0;
            } else if (spin++ < SPINS) {
                Thread.onSpinWait();
            } else {
                sleep(self);
                spin = 0;
            }
        }
    }

    private boolean take(int self) {
        long ticket = tickets.get();
        int pieces = (int) (ticket >>> BITS) & MASK, piece = (int) ticket & MASK;
        if (piece >= pieces) {
            return false;
        }
        if (tickets.compareAndSet(ticket, ticket + 1)) {
            try {
                if (self == 0 && !stopped && Stopped.wished()) {
                    stopped = true; // only the caller writes it: another thread could undo it by an older value
                }
                if (!stopped) {
                    task.piece(piece, self);
                }
            } catch (Throwable e) {
                failure = e;
            }
            if (finished.incrementAndGet() == pieces) {
                LockSupport.unpark(
                        waiting); // read after the count, or a caller that goes to sleep in between sleeps on
            }
        }
        return true;
    }

    private void sleep(int self) {
        synchronized (asleep) {
            asleep[self] = true;
        }
        long ticket = tickets.get();
        if (((int) (ticket >>> BITS) & MASK) <= ((int) ticket & MASK) && !closed) {
            LockSupport.park(this);
        }
        synchronized (asleep) {
            asleep[self] = false;
        }
    }

    private void wake() {
        synchronized (asleep) {
            for (int worker = 1; worker < threads.length; worker++) {
                if (asleep[worker]) {
                    LockSupport.unpark(threads[worker]);
                }
            }
        }
    }

    @Override
    public void close() {
        closed = true;
        for (int worker = 1; worker < threads.length; worker++) {
            LockSupport.unpark(threads[worker]);
        }
        for (int worker = 1; worker < threads.length; worker++) {
            boolean interrupted = false;
            while (threads[worker].isAlive()) {
                try {
                    threads[worker].join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
