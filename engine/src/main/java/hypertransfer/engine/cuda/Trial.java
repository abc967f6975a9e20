package hypertransfer.engine.cuda;

import hypertransfer.engine.cuda.driver.Device;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/** The algorithms that could compute a product, taken in turn from call to call, and how long each took. */
final class Trial {
    private static final int SAMPLES = 6; // of each; the first also loads its code, and does not count

    private final Device device;
    private final List<byte[]> candidates;
    private final byte[] refused;
    private final List<List<Float>> times;
    private final List<Call> open = new ArrayList<>();
    private int calls;

    private record Call(int candidate, long start, long stop) {}

    /** @param refused what was kept before and cannot be used any more; null where nothing was */
    Trial(Device device, List<byte[]> candidates, byte[] refused) {
        this.device = device;
        this.candidates = candidates;
        this.refused = refused;
        times = candidates.stream().<List<Float>>map(c -> new ArrayList<>()).toList();
    }

    /** One call, for which the plan takes the algorithm whose turn it is. */
    void call(Consumer<byte[]> plan, Runnable launch) {
        Call call = new Call(calls++ % candidates.size(), device.event(), device.event());
        plan.accept(candidates.get(call.candidate));
        device.record(call.start);
        launch.run();
        device.record(call.stop);
        open.add(call);
    }

    /** The milliseconds of the calls since the last time, which the card must have finished. */
    double collect() {
        double sum = 0;
        for (Call call : open) {
            float time = device.milliseconds(call.start, call.stop);
            times.get(call.candidate).add(time);
            sum += time;
            device.forget(call.start);
            device.forget(call.stop);
        }
        open.clear();
        return sum;
    }

    boolean enough() {
        return times.stream().allMatch(t -> t.size() >= SAMPLES);
    }

    byte[] best() {
        return IntStream.range(0, candidates.size())
                .boxed()
                .min(Comparator.comparingDouble(i -> median(times.get(i))))
                .map(candidates::get)
                .orElseThrow();
    }

    private static float median(List<Float> times) {
        return times.stream().skip(1).sorted().toList().get((times.size() - 1) / 2);
    }

    byte[] refused() {
        return refused;
    }
}
