package hypertransfer.engine.ranks.library;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A program run as several ranks on this machine. */
record Mpirun(int exit, String output) {
    static Mpirun of(int size, Class<?> program, String argument) throws Exception {
        assumeTrue(
                Arrays.stream(System.getenv("PATH").split(":"))
                        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "mpirun"))),
                "no mpirun: install openmpi-bin to run several ranks");
        String ranks =
                "mpirun --allow-run-as-root --oversubscribe --bind-to none --mca pml ob1 --mca btl self,vader,tcp"
                        + " --mca btl_tcp_if_include lo -n " + size;
        String options = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 --enable-native-access=ALL-UNNAMED -cp";
        List<String> command = new ArrayList<>(List.of(ranks.split(" ")));
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(List.of(options.split(" ")));
        command.addAll(List.of(System.getProperty("java.class.path"), program.getName(), argument));
        Path output = Files.createTempFile("mpirun", ".txt");
        Process process = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start();
        try {
            if (!process.waitFor(5, TimeUnit.MINUTES)) {
                process.destroy(); // mpirun ends its ranks
                throw new IllegalStateException("hangs: " + Files.readString(output));
            }
            return new Mpirun(process.exitValue(), Files.readString(output));
        } finally {
            Files.delete(output);
        }
    }
}
