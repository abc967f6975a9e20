package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.train.file.Folder;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** The command line as a process of its own, whose output is read line by line. */
public final class Child implements AutoCloseable {
    private final Process process;
    private final BufferedReader out;
    private final Path errors;

    private Child(Process process, Path errors) {
        this.process = process;
        this.errors = errors;
        out = process.inputReader();
    }

    /** The command line with its arguments, as the launcher starts it. */
    public static List<String> java(Object... args) {
        return command(Archive.OPTION, args);
    }

    private static List<String> command(String archive, Object... args) {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        String options = "@" + Path.of("../bin/jvm.options").toAbsolutePath();
        // They live for seconds, which the better compiler would take.
        Stream<Object> command = Stream.of(
                java,
                options,
                "-XX:TieredStopAtLevel=1",
                archive,
                "-Xlog:cds*=off,aot*=off",
                "-cp",
                Archive.CLASSES,
                "hypertransfer.lab.Main");
        return Stream.concat(command, Stream.of(args)).map(Object::toString).toList();
    }

    /** What a short run loads, made once per process of tests, as the launcher has it: without it a process takes a third longer. */
    private static final class Archive {
        private static final Path FOLDER =
                Path.of("target", System.getProperty("ht.child", "child")).toAbsolutePath();
        static final String CLASSES, OPTION;

        static {
            try {
                Folder.delete(Files.createDirectories(FOLDER));
                Files.createDirectories(FOLDER);
                CLASSES = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
                        .map(entry -> jar(Path.of(entry).toAbsolutePath()))
                        .collect(Collectors.joining(File.pathSeparator));
                List<Object> run =
                        new ArrayList<>(List.of("train", "../runs/muon.yaml", "--out", FOLDER.resolve("run")));
                run.addAll(Ht.TINY);
                String file = "=" + FOLDER.resolve("ht.jsa");
                output(command("-XX:ArchiveClassesAtExit" + file, run.toArray()).toArray(String[]::new));
                OPTION = "-XX:SharedArchiveFile" + file;
            } catch (IOException | InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        /** A folder of classes as a jar: an archive knows no folders. */
        private static String jar(Path entry) {
            if (!Files.isDirectory(entry)) {
                return entry.toString();
            }
            Path module = entry.getParent().getParent().getFileName();
            String jar = FOLDER + "/" + module + "-" + entry.getFileName() + ".jar";
            ToolProvider tool = ToolProvider.findFirst("jar").orElseThrow();
            assertThat(tool.run(System.out, System.err, "-c0f", jar, "-C", entry.toString(), "."))
                    .isZero();
            return jar;
        }
    }

    static Child start(List<String> args) throws Exception {
        return start(0, args);
    }

    /** With a heap of so many MiB; 0: the usual one. */
    static Child start(int heap, List<String> args) throws Exception {
        List<String> command = new ArrayList<>();
        // A build in the background ignores Ctrl-C, and so would its children.
        List<String> heeding = List.of("env", "--default-signal=INT,HUP", "true");
        if (new ProcessBuilder(heeding).start().waitFor() == 0) {
            command.addAll(heeding.subList(0, 2));
        }
        command.addAll(java(args.toArray()));
        Path errors = Files.createTempFile("child", ".err");
        ProcessBuilder builder = new ProcessBuilder(command).redirectError(errors.toFile());
        if (heap > 0) {
            builder.environment().put("JDK_JAVA_OPTIONS", "-Xmx" + heap + "m");
        }
        return new Child(builder.start(), errors);
    }

    /** What another program prints, which must succeed. */
    static String output(String... command) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        process.getOutputStream().close();
        String said = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(said).isZero();
        return said;
    }

    /** Waits until it has taken so many steps; false if it ended before. */
    boolean steps(int count) throws IOException {
        for (int i = 0; i < count; i++) {
            if (!says("| loss ")) {
                return false;
            }
        }
        return true;
    }

    /** Waits for a line that has this in it; false if it ended before. */
    boolean says(String part) throws IOException {
        for (String line = out.readLine(); line != null; line = out.readLine()) {
            if (line.contains(part)) {
                return true;
            }
        }
        return false;
    }

    /** As kill does, one after the other without a pause. */
    void signal(String... names) throws Exception {
        String all = Stream.of(names)
                .map(name -> "kill -" + name + " " + process.pid())
                .collect(Collectors.joining("; "));
        new ProcessBuilder("sh", "-c", all).start().waitFor();
    }

    /** Waits so many milliseconds; whether it has ended by then. What it prints meanwhile must fit a pipe. */
    boolean endsWithin(long milliseconds) throws InterruptedException {
        return process.waitFor(milliseconds, TimeUnit.MILLISECONDS);
    }

    /** Reads what is left and returns the exit code. */
    int end() throws Exception {
        while (out.readLine() != null) {}
        if (!process.waitFor(10, TimeUnit.MINUTES)) {
            throw new IllegalStateException("the process does not end");
        }
        return process.exitValue();
    }

    /** The lines on its error stream, without what Java itself says there. */
    List<String> errors() throws IOException {
        return Files.readAllLines(errors).stream()
                .filter(line -> !line.isBlank() && !line.startsWith("WARNING: Using incubator"))
                .toList();
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly();
        Files.deleteIfExists(errors);
    }
}
