package hypertransfer.lab;

import hypertransfer.train.file.Folder;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The classes of a short run as the JVM has them in memory: a process that starts from them takes a third less processor time. It is
 * made by the first test that needs it, and again when a class has changed.
 */
final class Archive {
    private static final Path FOLDER = Path.of("target", "child").toAbsolutePath();

    private Archive() {}

    /** The command line with its arguments, for a process of its own. */
    static synchronized List<String> java(Object... args) throws IOException, InterruptedException {
        Files.createDirectories(FOLDER);
        Path archive = FOLDER.resolve("ht.jsa"), stamp = FOLDER.resolve("stamp");
        try (FileChannel lock = // tests run in two processes
                FileChannel.open(FOLDER.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            lock.lock();
            String now = classPath() + newest();
            if (!Files.exists(stamp) || !Files.readString(stamp).equals(now)) {
                make(archive);
                Files.writeString(stamp, now);
            }
        }
        Stream<String> words = Arrays.stream(args).map(Object::toString);
        return Stream.concat(options("-XX:SharedArchiveFile=" + archive).stream(), words)
                .toList();
    }

    private static List<String> options(String option) {
        return List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1",
                "-XX:-UsePerfData",
                option,
                "-Xlog:cds*=off,aot*=off",
                "--add-modules",
                "jdk.incubator.vector",
                "--enable-native-access=ALL-UNNAMED",
                "-cp",
                classPath(),
                "hypertransfer.lab.Main");
    }

    /** The class path of this process, without the tests. */
    private static List<Path> entries() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(entry -> Path.of(entry).toAbsolutePath())
                .filter(entry -> Files.exists(entry) && !entry.endsWith("test-classes"))
                .toList();
    }

    /** An archive takes classes only from jars: which one stands for an entry, which may be a module's folder of classes. */
    private static Path jar(Path entry) {
        return Files.isDirectory(entry)
                ? FOLDER.resolve(entry.getParent().getParent().getFileName() + ".jar")
                : entry;
    }

    private static String classPath() {
        return entries().stream().map(entry -> jar(entry).toString()).collect(Collectors.joining(File.pathSeparator));
    }

    private static long newest() throws IOException {
        long newest = 0;
        for (Path entry : entries()) {
            try (Stream<Path> files = Files.walk(entry)) {
                for (Path file : files.toList()) {
                    newest = Math.max(newest, Files.getLastModifiedTime(file).toMillis());
                }
            }
        }
        return newest;
    }

    private static void make(Path archive) throws IOException, InterruptedException {
        ToolProvider jar = ToolProvider.findFirst("jar").orElseThrow();
        for (Path entry : entries()) {
            if (Files.isDirectory(entry)) {
                jar.run(System.out, System.err, "cf", jar(entry).toString(), "-C", entry.toString(), ".");
            }
        }
        Files.deleteIfExists(archive);
        Path run = Files.createTempDirectory("archive");
        List<String> command = new ArrayList<>(options("-XX:ArchiveClassesAtExit=" + archive));
        Path tiny = Files.writeString(run.resolve("tiny.yaml"), """
                engine: reference
                steps: 2
                model: {layers: 1, width: 8, head: 4, sequence: 8, batch: 1}
                validation: {batches: 1}
                """);
        command.addAll(
                List.of("train", tiny.toString(), "--out", run.resolve("run").toString()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes());
        if (process.waitFor() != 0 || !Files.exists(archive)) {
            throw new IOException("no class archive was made: " + said);
        }
        Folder.delete(run);
    }
}
