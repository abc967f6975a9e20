package hypertransfer.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * What somebody gets who runs {@code mvn install} and then depends on the artifacts from a project of their own. The repository
 * is a temporary one, which has only links to what Maven had already downloaded; the sources are a copy, so that the build under way
 * is not disturbed.
 */
class OutsiderTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final String VERSION = System.getProperty("ht.version");

    /** No warnings about Maven's own libraries, and little compiling for a process that soon ends. */
    private static final String QUIET_AND_SHORT = "--sun-misc-unsafe-memory-access=allow"
            + " --enable-native-access=ALL-UNNAMED -XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

    @TempDir
    Path dir;

    @TempDir
    Path repository;

    /** JUnit would warn of each link that it deletes. */
    @AfterEach
    void unlink() throws IOException {
        try (Stream<Path> links = Files.list(repository)) {
            for (Path link : links.filter(Files::isSymbolicLink).toList()) {
                Files.delete(link);
            }
        }
    }

    /** With {@code -Dht.slow=true} also the javadoc jars; that everything is documented is the compiler's concern. */
    @Test
    void theArtifactsServeAnotherProject() throws Exception {
        boolean slow = Boolean.getBoolean("ht.slow");
        links();
        maven(
                sources(),
                "-Prelease",
                slow ? "-Dslow" : "-Dmaven.javadoc.skip=true",
                "-Dmaven.test.skip=true",
                "-Dspotless.check.skip=true",
                "-pl",
                "djl",
                "-am",
                "install");
        List<String> beside = slow ? List.of(".pom", "-sources.jar", "-javadoc.jar") : List.of(".pom", "-sources.jar");
        artifact("hypertransfer-core", "hypertransfer.core", beside);
        artifact("hypertransfer-djl", "hypertransfer.djl", beside);

        Path outsider = dir.resolve("outsider");
        copy(Path.of("src/test/outsider"), outsider);
        maven(outsider, "-Dhypertransfer.version=" + VERSION, "compile");
        try (Stream<Path> library = Files.list(outsider.resolve("target/lib"))) {
            assertThat(library.map(jar -> jar.getFileName().toString()))
                    .as("what the artifacts bring with them")
                    .contains("hypertransfer-core-" + VERSION + ".jar", "hypertransfer-djl-" + VERSION + ".jar")
                    .noneMatch(jar -> jar.matches("(hypertransfer-engine|junit|assertj|openblas|javacpp|pytorch).*"));
        }
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String classes = "target/classes" + File.pathSeparator + "target/lib/*";
        assertThat(run(outsider, java, "-cp", classes, "outsider.Main")).isEqualTo("""
                steps 20, radius 5.0, proxy norm moved true
                adam(0.9, 0.95, 1.0E-10), Base(0.1) on Hyperball, representative
                bad input, diverged at w 0
                """);
    }

    private void artifact(String name, String module, List<String> beside) throws IOException {
        Path folder = repository.resolve("hypertransfer/" + name + "/" + VERSION);
        for (String suffix : beside) {
            assertThat(folder.resolve(name + "-" + VERSION + suffix)).isNotEmptyFile();
        }
        try (JarFile jar =
                new JarFile(folder.resolve(name + "-" + VERSION + ".jar").toFile())) {
            assertThat(jar.getManifest().getMainAttributes().getValue("Automatic-Module-Name"))
                    .isEqualTo(module);
            String any = jar.stream()
                    .map(entry -> entry.getName())
                    .filter(entry -> entry.endsWith(".class"))
                    .findFirst()
                    .orElseThrow();
            try (DataInputStream in = new DataInputStream(jar.getInputStream(jar.getEntry(any)))) {
                assertThat(in.readInt()).isEqualTo(0xCAFEBABE);
                assertThat(in.readInt()).as("class files of Java 21").isEqualTo(65);
            }
        }
    }

    /** Everything that was downloaded before, but nothing of ours. */
    private void links() throws IOException {
        try (Stream<Path> groups = Files.list(Path.of(System.getProperty("ht.repository")))) {
            for (Path group : groups.toList()) {
                if (!group.endsWith("hypertransfer")) {
                    Files.createSymbolicLink(repository.resolve(group.getFileName()), group);
                }
            }
        }
    }

    private Path sources() throws IOException {
        Path sources = Files.createDirectory(dir.resolve("sources"));
        Files.copy(ROOT.resolve("pom.xml"), sources.resolve("pom.xml"));
        try (Stream<Path> folders = Files.list(ROOT)) {
            for (Path module : folders.filter(folder -> Files.exists(folder.resolve("pom.xml")))
                    .toList()) {
                Path to = Files.createDirectory(sources.resolve(module.getFileName()));
                Files.copy(module.resolve("pom.xml"), to.resolve("pom.xml"));
                if (List.of("core", "djl").contains(module.getFileName().toString())) {
                    copy(module.resolve("src/main"), to.resolve("src/main"));
                }
            }
        }
        return sources;
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path copy = to.resolve(from.relativize(file).toString());
                Files.createDirectories(copy.getParent());
                Files.copy(file, copy);
            }
        }
    }

    /** Without the network; only a plugin that was never downloaded is fetched. */
    private void maven(Path folder, String... arguments) throws Exception {
        if (Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .noneMatch(bin -> Files.isExecutable(Path.of(bin, "mvn")))) {
            String why = "skipped: mvn is not on the PATH, so the artifacts are not installed for an outsider";
            System.err.println(why); // build logs only count what is skipped
            abort(why);
        }
        List<String> command = new ArrayList<>(List.of("mvn", "-q", "-B", "-o", "-Dmaven.repo.local=" + repository));
        command.addAll(List.of(arguments));
        try {
            run(folder, command.toArray(String[]::new));
        } catch (AssertionError e) {
            if (!e.getMessage().contains("offline mode")) {
                throw e;
            }
            System.err.println("an artifact of Maven's was never downloaded; trying again with the network");
            command.remove("-o");
            run(folder, command.toArray(String[]::new));
        }
    }

    private static String run(Path folder, String... command) throws Exception {
        ProcessBuilder builder =
                new ProcessBuilder(command).directory(folder.toFile()).redirectErrorStream(true);
        builder.environment().put("JAVA_HOME", System.getProperty("java.home"));
        builder.environment().merge("MAVEN_OPTS", QUIET_AND_SHORT, (a, b) -> a + " " + b);
        Process process = builder.start();
        String output = new String(process.getInputStream().readAllBytes());
        assertThat(process.waitFor()).as(output).isZero();
        return output;
    }
}
