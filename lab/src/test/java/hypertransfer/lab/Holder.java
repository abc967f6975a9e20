package hypertransfer.lab;

import hypertransfer.train.log.Run;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/** Another process that holds a run, until it is killed. */
record Holder(Process process) {
    static Holder of(Path run) throws IOException {
        Process process = new ProcessBuilder(
                        "python3",
                        "-c",
                        "import fcntl,sys,time; f=open(sys.argv[1],'w'); fcntl.lockf(f, fcntl.LOCK_EX);"
                                + " print('held', flush=True); time.sleep(600)",
                        Files.createDirectories(run).resolve("lock").toString())
                .start();
        process.inputReader().readLine();
        return new Holder(process);
    }

    /** Is killed as soon as another run has begun. */
    void killedAfter(Path other) {
        Thread.ofVirtual().start(() -> {
            while (!new Run(other).begun() && process.isAlive()) {
                LockSupport.parkNanos(5_000_000);
            }
            process.destroyForcibly();
        });
    }
}
