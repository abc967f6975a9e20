package hypertransfer.engine.cuda.driver;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The milliseconds of everything that is launched, if the environment has HT_CUDA_PROFILE: an event before and one after
 * each launch, and a table of the sums. The first of each name does not count: it also loads the code.
 */
public final class Profile {
    private static final int FLUSH = 4096;

    private final Device device;
    private final boolean on = System.getenv("HT_CUDA_PROFILE") != null;
    private final List<Span> open = new ArrayList<>();
    private final Map<String, double[]> spent = new LinkedHashMap<>(); // milliseconds, times

    private record Span(String name, long start, long stop) {}

    Profile(Device device) {
        this.device = device;
    }

    public boolean on() {
        return on;
    }

    public void around(String name, Runnable launch) {
        if (!on) {
            launch.run();
            return;
        }
        Span span = new Span(name, device.event(), device.event());
        device.record(span.start);
        launch.run();
        device.record(span.stop);
        open.add(span);
        if (open.size() >= FLUSH) {
            flush();
        }
    }

    private void flush() {
        device.synchronize();
        for (Span span : open) {
            double[] sum = spent.get(span.name);
            if (sum == null) {
                spent.put(span.name, new double[2]);
            } else {
                sum[0] += device.milliseconds(span.start, span.stop);
                sum[1]++;
            }
            device.forget(span.start);
            device.forget(span.stop);
        }
        open.clear();
    }

    /** One line per name, the longest first; empty unless the profile is on. */
    public String table() {
        if (!on) {
            return "";
        }
        flush();
        StringBuilder table = new StringBuilder("milliseconds   times   each  what\n");
        spent.entrySet().stream()
                .filter(e -> e.getValue()[1] > 0)
                .sorted((a, b) -> Double.compare(b.getValue()[0], a.getValue()[0]))
                .forEach(e -> table.append(String.format(
                        Locale.ROOT,
                        "%12.2f %7.0f %6.3f  %s%n",
                        e.getValue()[0],
                        e.getValue()[1],
                        e.getValue()[0] / e.getValue()[1],
                        e.getKey())));
        return table.toString();
    }
}
