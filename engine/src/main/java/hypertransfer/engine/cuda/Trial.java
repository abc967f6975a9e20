package hypertransfer.engine.cuda;

import hypertransfer.engine.cuda.driver.Device;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.IntSupplier;

/** The algorithms that could compute a product, taken in turn from call to call, and how long each took. */
final class Trial {
    private static final int SAMPLES = 6; // of each; the first also loads its code, and does not count

    private final Device device;
    private final List<Candidate> candidates;
    final byte[] refused;
    private final List<Call> open = new ArrayList<>();
    private int turn;

    private record Candidate(byte[] algorithm, List<Float> times) {
        float median() {
            return times.stream().skip(1).sorted().toList().get((times.size() - 1) / 2);
        }
    }

    private record Call(Candidate candidate, long start, long stop) {}

    /** @param refused what was kept before and cannot be used any more; null where nothing was */
    Trial(Device device, List<byte[]> algorithms, byte[] refused) {
        this.device = device;
        this.refused = refused;
        candidates = new ArrayList<>(algorithms.stream()
                .map(algorithm -> new Candidate(algorithm, new ArrayList<>()))
                .toList());
    }

    /**
     * One call, for which the plan takes the algorithm whose turn it is. One that fails, although it was offered, is left
     * out from then on, and the next is taken.
     *
     * @return the status: not 0 only where every algorithm has failed
     */
    int call(Consumer<byte[]> plan, IntSupplier launch) {
        int status;
        do {
            turn = turn % candidates.size();
            Call call = new Call(candidates.get(turn), device.event(), device.event());
            plan.accept(call.candidate.algorithm);
            device.record(call.start);
            status = launch.getAsInt();
            device.record(call.stop);
            if (status == 0) {
                open.add(call);
                turn++;
            } else {
                forget(call);
                candidates.remove(turn);
            }
        } while (status != 0 && !candidates.isEmpty());
        return status;
    }

    /** The milliseconds of the calls since the last time, which the card must have finished. */
    double collect() {
        double sum = 0;
        for (Call call : open) {
            float time = device.milliseconds(call.start, call.stop);
            call.candidate.times.add(time);
            sum += time;
            forget(call);
        }
        open.clear();
        return sum;
    }

    private void forget(Call call) {
        device.forget(call.start);
        device.forget(call.stop);
    }

    boolean enough() {
        return candidates.stream().allMatch(candidate -> candidate.times.size() >= SAMPLES);
    }

    byte[] best() {
        return candidates.stream()
                .min(Comparator.comparingDouble(Candidate::median))
                .orElseThrow()
                .algorithm;
    }
}
