package hypertransfer.engine.cpu.thread;

import java.util.function.IntPredicate;
import java.util.function.LongSupplier;

/**
 * One task in two forms with the same bits: loops over arrays, which run decently from the first call, and vectors,
 * which are hundreds of times slower until the compiler has come by and the faster form from then on. The loops do the
 * work of the first step. After that some pieces are computed with vectors, which the compiler takes as a reason to
 * compile them, until they are fast enough.
 */
public final class Twin implements Task {
    /** One piece in so many is computed with vectors while they are slow; a prime, so that it is a different one each time. */
    private static final int EVERY = 17;

    /** Attempts after which vectors have it in any case: so few small pieces may never be a reason to compile. */
    private static final int ATTEMPTS = 256;

    /** Pieces after which a task tries vectors even where no step is ever taken. */
    private static final int PATIENCE = 4096;

    /** So many times as long is good enough: vectors make no garbage, and what is not compiled takes far longer. */
    private static final double ENOUGH = 1.5;

    /** Wins in a row: one could be chance, on a machine that does other work too. */
    private static final int WINS = 2;

    private static final Budget ALL = new Budget();
    private static volatile boolean stepped;
    /** Of tests that train little, and would spend their time on compiling vectors. */
    private static final boolean ONLY_LOOPS = "loops".equals(System.getProperty("ht.form"));

    private static volatile Form form = ONLY_LOOPS ? Form.LOOPS : Form.FASTER;

    /** What is computed with. */
    public enum Form {
        LOOPS,
        VECTORS,
        FASTER
    }

    private final Task loops, vectors;
    private final IntPredicate looped;
    private final LongSupplier clock;
    private final Budget budget;
    private volatile boolean ready;
    private int pieces, attempts, wins; // which threads count at once loses a count, and no more
    private double usual; // nanoseconds of a piece by loops

    public Twin(Task loops, Task vectors) {
        this(loops, vectors, piece -> true);
    }

    /** @param looped whether loops know a piece; where they do not, vectors compute it from the start */
    public Twin(Task loops, Task vectors, IntPredicate looped) {
        this(loops, vectors, looped, System::nanoTime, ALL);
    }

    Twin(Task loops, Task vectors, IntPredicate looped, LongSupplier clock, Budget budget) {
        this.loops = loops;
        this.vectors = vectors;
        this.looped = looped;
        this.clock = clock;
        this.budget = budget;
    }

    /** A first step has been taken: nobody waits for it any more, so vectors may be tried. */
    public static void stepped() {
        stepped = true;
    }

    /**
     * From now on only one form, or again whichever is faster, unless {@code ht.form} is {@code loops}; for tests, which
     * must know what they test.
     */
    public static void demand(Form demanded) {
        form = ONLY_LOOPS ? Form.LOOPS : demanded;
    }

    /** Whether vectors are the faster form by now. */
    public boolean ready() {
        return form == Form.FASTER ? ready : form == Form.VECTORS;
    }

    @Override
    public void piece(int piece, int worker) {
        if (ready() || !looped.test(piece)) {
            vectors.piece(piece, worker);
        } else if (form == Form.LOOPS) {
            loops.piece(piece, worker);
        } else {
            measured(piece, worker);
        }
    }

    private void measured(int piece, int worker) {
        int count = ++pieces;
        long start = clock.getAsLong();
        boolean attempt = (stepped || count > PATIENCE) && count % EVERY == 0 && budget.allows(start);
        (attempt ? vectors : loops).piece(piece, worker);
        double took = clock.getAsLong() - start;
        if (attempt) {
            budget.spend((long) took);
            wins = took < ENOUGH * usual ? wins + 1 : 0;
            ready = wins >= WINS || ++attempts == ATTEMPTS;
        } else {
            usual = usual == 0 ? took : 0.9 * usual + 0.1 * Math.min(took, 2 * usual); // a thread may have had to wait
        }
    }

    /** The time that attempts may take, of all tasks together: a third, so that no step takes much longer for them. */
    static final class Budget {
        private long since, spent;

        private synchronized boolean allows(long now) {
            since = since == 0 ? now : since;
            return 3 * spent <= now - since;
        }

        private synchronized void spend(long nanoseconds) {
            spent += nanoseconds;
        }
    }
}
