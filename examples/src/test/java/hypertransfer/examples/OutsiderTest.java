package hypertransfer.examples;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.abort;

import java.io.DataInputStream;
import java.io.File;
import java.io.IOException;
import java.lang.module.ModuleFinder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarFile;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/**
 * What somebody gets who runs {@code mvn install} and then depends on the artifacts from a project of their own. The repository
 * is a temporary one, which has only links to what Maven had already downloaded; the sources are a copy, so that the build under way
 * is not disturbed.
 */
class OutsiderTest {
    private static final Path ROOT = Path.of("..").toAbsolutePath().normalize();
    private static final String SNAPSHOT = System.getProperty("ht.version"), VERSION = "7.0.0";
    private static final boolean SLOW = Boolean.getBoolean("ht.slow");
    private static final String JAVA =
            Path.of(System.getProperty("java.home"), "bin", "java").toString();

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

    /** With {@code -Dht.slow=true} also the javadoc jars, and the lists of components, which are not made without the network. */
    @Test
    void theArtifactsServeAnotherProject() throws Exception {
        Path sources = sources("sources");
        assertThatThrownBy(() -> maven(sources, "-Prelease", "-N", "validate"))
                .hasMessageContaining("This project cannot be a snapshot")
                .hasMessageContaining("replace hypertransfer in all poms")
                .hasMessageContaining("set publisher.name in pom.xml")
                .hasMessageContaining("set publisher.url in pom.xml")
                .hasMessageContaining("set publisher.git in pom.xml");
        published(sources);
        install(sources, SLOW, "install");
        List<String> beside = SLOW
                ? List.of(".pom", "-sources.jar", "-javadoc.jar", "-cyclonedx.json")
                : List.of(".pom", "-sources.jar");
        artifact("hypertransfer-core", "hypertransfer.core", beside);
        artifact("hypertransfer-djl", "hypertransfer.djl", beside);
        assertThat(repository.resolve("example/yours/hypertransfer-engine"))
                .as("only the tests need it")
                .doesNotExist();

        Path outsider = dir.resolve("outsider");
        copy(Path.of("src/test/outsider"), outsider);
        published(outsider);
        maven(outsider, "-Dhypertransfer.version=" + VERSION, "compile");
        try (Stream<Path> library = Files.list(outsider.resolve("target/lib"))) {
            assertThat(library.map(jar -> jar.getFileName().toString()))
                    .as("what the artifacts bring with them")
                    .contains("hypertransfer-core-" + VERSION + ".jar", "hypertransfer-djl-" + VERSION + ".jar")
                    .noneMatch(jar -> jar.matches("(hypertransfer-engine|junit|assertj|openblas|javacpp|pytorch).*"));
        }
        String classes = "target/classes" + File.pathSeparator + "target/lib/*";
        String expected = """
                steps 20, radius 5.0, proxy norm moved true
                adam(0.9, 0.95, 1.0E-10), Base(0.1) on Hyperball, representative
                bad input, diverged at w 0
                """;
        assertThat(run(outsider, JAVA, "-cp", classes, "outsider.Main")).isEqualTo(expected);
        String modules = "target/classes" + File.pathSeparator + "target/lib";
        assertThat(run(outsider, JAVA, "-p", modules, "-m", "outsider/outsider.Main"))
                .isEqualTo(expected);
    }

    /** The project to copy, with the README's program; and that a second build in another folder makes the same bytes. */
    @Test
    @EnabledIfSystemProperty(named = "ht.slow", matches = "true", disabledReason = "a minute: -Dht.slow=true")
    void theProjectToCopyTrainsAndJarsAreReproducible() throws Exception {
        Path first = published(sources("first")), second = published(sources("a second"));
        install(first, true, "install");
        install(second, true, "package");
        for (String module : List.of("core", "djl")) {
            for (String suffix : List.of(".jar", "-sources.jar", "-javadoc.jar")) {
                String jar = module + "/target/hypertransfer-" + module + "-" + VERSION + suffix;
                assertThat(first.resolve(jar)).hasSameBinaryContentAs(second.resolve(jar));
            }
        }

        Path yours = dir.resolve("yours");
        copy(Path.of("project"), yours);
        published(yours);
        String spirals = "java/hypertransfer/djl/example/Spirals.java";
        Files.createDirectories(yours.resolve("src/main/" + spirals).getParent());
        Files.copy(ROOT.resolve("djl/src/test/" + spirals), yours.resolve("src/main/" + spirals));
        String platform = System.getProperty("os.arch").equals("aarch64") ? "linux-aarch64" : "linux-x86_64";
        maven(yours, "-Dplatform=" + platform, "compile", "dependency:build-classpath", "-Dmdep.outputFile=target/cp");
        String classes = "target/classes" + File.pathSeparator + Files.readString(yours.resolve("target/cp"));
        assertThat(run(
                        yours,
                        JAVA,
                        "--enable-native-access=ALL-UNNAMED",
                        "-Dai.djl.offline=true",
                        "-DDJL_CACHE_DIR=" + dir.resolve("djl"),
                        "-cp",
                        classes,
                        "hypertransfer.djl.example.Spirals"))
                .containsPattern("MuonH: \\{validate_Accuracy=(0\\.9|1)");
    }

    /** There is no Gradle here to run it. */
    @Test
    void theGradleFileNamesWhatThePomNames() throws IOException {
        String pom = Files.readString(Path.of("project/pom.xml"));
        for (String name : List.of("djl", "pytorch", "platform")) {
            String key = name.equals("platform") ? name : name + ".version";
            String value = pom.split("<" + key + ">")[1].split("<")[0];
            pom = pom.replace("${" + key + "}", value);
            if (!name.equals("platform")) {
                assertThat(Files.readString(ROOT.resolve(name.equals("djl") ? "pom.xml" : "djl/pom.xml")))
                        .contains("<" + key + ">" + value + "<");
            }
        }
        List<String> maven = new ArrayList<>();
        for (String part : pom.split("<dependency>\\s*")) {
            if (part.contains("</dependency>")) {
                maven.add(Pattern.compile("<(groupId|artifactId|version|classifier)>([^<]+)<")
                        .matcher(part.split("</dependency>")[0])
                        .results()
                        .map(found -> found.group(2))
                        .collect(Collectors.joining(":")));
            }
        }
        String gradle = Files.readString(Path.of("project/build.gradle.kts"));
        String platform = gradle.split("val platform = \"")[1].split("\"")[0];
        assertThat(Pattern.compile("(?:implementation|runtimeOnly)\\(\"([^\"]+)\"\\)")
                        .matcher(gradle.replace("$platform", platform))
                        .results()
                        .map(found -> found.group(1)))
                .hasSize(4)
                .containsExactlyElementsOf(maven);
    }

    private void install(Path sources, boolean javadoc, String phase) throws Exception {
        maven(
                sources,
                "-Prelease",
                javadoc ? "-Dslow" : "-Dmaven.javadoc.skip=true",
                "-Dmaven.test.skip=true",
                "-Dspotless.check.skip=true",
                "-pl",
                "djl",
                "-am",
                phase);
    }

    /** What a publisher changes before a release: group, version, and the properties that the build refuses to leave as they are. */
    private static Path published(Path project) throws IOException {
        try (Stream<Path> files = Files.walk(project)) {
            for (Path pom : files.filter(file -> file.endsWith("pom.xml")).toList()) {
                Files.writeString(
                        pom,
                        Files.readString(pom)
                                .replace("<groupId>hypertransfer<", "<groupId>example.yours<")
                                .replace(SNAPSHOT, VERSION)
                                .replace(">nobody.invalid<", ">Somebody<")
                                .replace("hypertransfer.invalid", "hypertransfer.example"));
            }
        }
        return project;
    }

    private void artifact(String name, String module, List<String> beside) throws IOException {
        Path folder = repository.resolve("example/yours/" + name + "/" + VERSION);
        for (String suffix : beside) {
            assertThat(folder.resolve(name + "-" + VERSION + suffix)).isNotEmptyFile();
        }
        Path main = folder.resolve(name + "-" + VERSION + ".jar");
        assertThat(ModuleFinder.of(main).find(module).orElseThrow().descriptor().isAutomatic())
                .isFalse();
        for (String each : SLOW ? List.of(".jar", "-sources.jar", "-javadoc.jar") : List.of(".jar", "-sources.jar")) {
            try (JarFile jar =
                    new JarFile(folder.resolve(name + "-" + VERSION + each).toFile())) {
                assertThat(jar.getEntry("META-INF/LICENSE")).as(each).isNotNull();
                assertThat(jar.getEntry("META-INF/NOTICE")).as(each).isNotNull();
            }
        }
        try (JarFile jar = new JarFile(main.toFile())) {
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
    @BeforeEach
    void links() throws IOException {
        try (Stream<Path> groups = Files.list(Path.of(System.getProperty("ht.repository")))) {
            for (Path group : groups.toList()) {
                if (!group.endsWith("hypertransfer") && !group.endsWith("example")) {
                    Files.createSymbolicLink(repository.resolve(group.getFileName()), group);
                }
            }
        }
    }

    private Path sources(String name) throws IOException {
        Path sources = Files.createDirectory(dir.resolve(name));
        for (String file : List.of("pom.xml", "LICENSE", "NOTICE")) {
            Files.copy(ROOT.resolve(file), sources.resolve(file));
        }
        try (Stream<Path> folders = Files.list(ROOT)) {
            for (Path module : folders.filter(folder -> Files.exists(folder.resolve("pom.xml")))
                    .toList()) {
                Path to = Files.createDirectory(sources.resolve(module.getFileName()));
                Files.copy(module.resolve("pom.xml"), to.resolve("pom.xml"));
                if (List.of("core", "djl", "examples")
                        .contains(module.getFileName().toString())) {
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

    /** Without the network, unless it is slow; only a plugin that was never downloaded is fetched. */
    private void maven(Path folder, String... arguments) throws Exception {
        if (Stream.of(System.getenv("PATH").split(File.pathSeparator))
                .noneMatch(bin -> Files.isExecutable(Path.of(bin, "mvn")))) {
            String why = "skipped: mvn is not on the PATH, so the artifacts are not installed for an outsider";
            System.err.println(why); // build logs only count what is skipped
            abort(why);
        }
        List<String> command =
                new ArrayList<>(List.of("mvn", "-q", "-B", SLOW ? "-nsu" : "-o", "-Dmaven.repo.local=" + repository));
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
