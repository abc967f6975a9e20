package hypertransfer.lab.experiment;

import com.sun.management.OperatingSystemMXBean;
import hypertransfer.engine.provider.Engines;
import java.io.File;
import java.lang.management.ManagementFactory;

/** What a run would find here. Sizes are in bytes. */
public record Machine(
        String jdk,
        String vendor,
        String home,
        String os,
        String architecture,
        int cores,
        long memory,
        long freeMemory,
        long maxHeap,
        String folder,
        long freeDisk,
        int vectorBits) {
    public static Machine here() {
        var system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        File folder = new File("").getAbsoluteFile();
        return new Machine(
                Runtime.version().toString(),
                System.getProperty("java.vendor"),
                System.getProperty("java.home"),
                system.getName() + " " + system.getVersion(),
                system.getArch(),
                Runtime.getRuntime().availableProcessors(),
                system.getTotalMemorySize(),
                system.getFreeMemorySize(),
                Runtime.getRuntime().maxMemory(),
                folder.getPath(),
                folder.getUsableSpace(),
                Engines.vectorBits());
    }
}
