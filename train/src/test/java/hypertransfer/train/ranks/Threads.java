package hypertransfer.train.ranks;

import hypertransfer.engine.ranks.Ranks;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntUnaryOperator;

/** Ranks that are threads of one process, for tests: a copy stands for every message. */
public final class Threads {
    private final Object[] shown;
    private final CyclicBarrier barrier;

    private Threads(int size) {
        shown = new Object[size];
        barrier = new CyclicBarrier(size);
    }

    /** What a rank does. */
    public interface Body {
        void run(Ranks ranks) throws Exception;
    }

    /** Runs all ranks to their end; what the first of them threw is thrown here. */
    public static void run(int size, Body body) throws Exception {
        Threads threads = new Threads(size);
        try (ExecutorService executor = Executors.newFixedThreadPool(size)) {
            List<Future<?>> all = new ArrayList<>();
            for (int rank = 0; rank < size; rank++) {
                Member member = new Member(threads, rank);
                all.add(executor.submit((Callable<Void>) () -> {
                    try {
                        body.run(member);
                    } catch (Exception e) {
                        threads.barrier.reset(); // nobody waits for a rank that failed
                        throw e;
                    }
                    return null;
                }));
            }
            Exception first = null;
            for (Future<?> rank : all) {
                try {
                    rank.get();
                } catch (ExecutionException e) {
                    Exception cause =
                            e.getCause() instanceof Exception x ? x : new IllegalArgumentException(e.getCause());
                    first = first == null || first instanceof IllegalStateException ? cause : first;
                }
            }
            if (first != null) {
                throw first;
            }
        }
    }

    private record Member(Threads all, int rank) implements Ranks {
        @Override
        public Duration limit() {
            return Duration.ofMinutes(10);
        }

        private void meet() {
            try {
                all.barrier.await();
            } catch (BrokenBarrierException | InterruptedException e) {
                throw new IllegalStateException("another rank failed", e);
            }
        }

        @SuppressWarnings("unchecked")
        private <T> List<T> show(T own) {
            all.shown[rank] = own;
            meet();
            return (List<T>) List.of(all.shown);
        }

        @Override
        public int size() {
            return all.shown.length;
        }

        @Override
        public String label() {
            return "threads";
        }

        @Override
        public Delivery begin(List<MemorySegment> out, List<MemorySegment> in) {
            return () -> copy(out, in, peer -> rank); // as late as may be
        }

        @Override
        public void gather(List<MemorySegment> parts) {
            copy(parts, parts, peer -> peer);
        }

        private void copy(List<MemorySegment> out, List<MemorySegment> in, IntUnaryOperator taken) {
            List<List<MemorySegment>> sent = show(out);
            for (int peer = 0; peer < size(); peer++) {
                if (peer != rank) {
                    in.get(peer).copyFrom(sent.get(peer).get(taken.applyAsInt(peer)));
                }
            }
            meet();
        }

        @Override
        public List<byte[]> all(byte[] own) {
            List<byte[]> shown = show(own);
            meet();
            return shown;
        }

        @Override
        public void abort(int code) {
            all.barrier.reset();
        }
    }
}
