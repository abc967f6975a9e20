package hypertransfer.lab;

import static java.nio.file.attribute.FileTime.from;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** The launcher in a project of its own, with a Maven and a JDK that only note how they were called. */
@EnabledOnOs({OS.LINUX, OS.MAC})
class LauncherTest {
    @TempDir
    Path dir;

    private Path root;
    private Path tools;
    private Path source;
    private Path stamp;
    private Path lock;

    @BeforeEach
    void project() throws Exception {
        dir = dir.toRealPath();
        root = Files.createDirectories(dir.resolve("a project"));
        // The real machine's JDKs must not be found: nothing but the fake JDK below is there to find.
        for (String script : List.of("ht", "bin/jdk")) {
            String text = Files.readString(Path.of("..", script));
            for (String place : List.of("/usr/lib/jvm/", "/Library/", "/opt/homebrew/", "/usr/local/")) {
                text = text.replace(" " + place, " " + dir + "/nowhere/");
            }
            script(root.resolve(script), text);
        }
        source = write(root.resolve("lab/src/main/java/A.java"), "");
        write(root.resolve("runs/a.yaml"), "");
        write(root.resolve("pom.xml"), "");
        write(root.resolve("lab/pom.xml"), "");
        stamp = root.resolve("lab/target/ht.stamp");
        lock = root.resolve("lab/target/ht.lock");

        jdk("jdk", "25.0.3");
        tools = Files.createDirectories(dir.resolve("tools"));
        tools("sed dirname readlink find head uname mkdir ln rm mv sleep touch".split(" "));
        script(tools.resolve("mvn"), """
                #!/bin/sh
                echo "mvn $JAVA_HOME $*" >>"%1$s/mvn.log"
                echo "noise of maven"
                while [ -e "%1$s/hold" ]; do sleep 0.05; done
                [ ! -e "%1$s/broken" ] || exit 1
                mkdir -p lab/target/app && : >lab/target/hypertransfer-lab-1.jar
                """.formatted(dir));
    }

    /** Puts the machine's own tools where the launcher finds them. */
    private void tools(String... names) throws IOException {
        for (String tool : names) {
            Path found = Stream.of("/usr/bin", "/bin")
                    .map(bin -> Path.of(bin, tool))
                    .filter(Files::exists)
                    .findFirst()
                    .orElseThrow();
            script(tools.resolve(tool), "#!/bin/sh\nexec " + found + " \"$@\"\n");
        }
    }

    private void jdk(String name, String version) throws IOException {
        Path home = dir.resolve(name);
        write(home.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
        script(home.resolve("bin/javac"), "#!/bin/sh\n");
        script(home.resolve("bin/java"), """
                #!/bin/sh
                echo "pid=$$"
                for arg; do printf '[%s]\\n' "$arg"; done
                exit ${FAKE_EXIT:-0}
                """);
    }

    private static Path write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private static void script(Path file, String text) throws IOException {
        assertThat(write(file, text).toFile().setExecutable(true)).isTrue();
    }

    private record Result(int exit, String out, String err, long pid) {}

    private ProcessBuilder command(Path launcher, String... args) {
        var command = new ProcessBuilder(
                Stream.concat(Stream.of(launcher.toString()), Stream.of(args)).toList());
        command.environment().clear();
        command.environment().put("PATH", tools.toString());
        command.environment().put("HOME", dir.toString());
        command.environment().put("JAVA_HOME", dir.resolve("jdk").toString());
        return command.directory(dir.toFile());
    }

    private Process start(ProcessBuilder command) throws IOException {
        Path err = Files.createTempFile(dir, "err", "");
        command.environment().put("ERR", err.toString());
        return command.redirectError(err.toFile()).start();
    }

    private static Result finish(ProcessBuilder command, Process p) throws Exception {
        String out = new String(p.getInputStream().readAllBytes());
        assertThat(p.waitFor(10, TimeUnit.MINUTES)).isTrue();
        return new Result(p.exitValue(), out, stderr(command), p.pid());
    }

    private static String stderr(ProcessBuilder command) {
        try {
            return Files.readString(Path.of(command.environment().get("ERR")));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private Result run(ProcessBuilder command) throws Exception {
        return finish(command, start(command));
    }

    private ProcessBuilder ht(String... args) {
        return command(root.resolve("ht"), args);
    }

    private Result run(String... args) throws Exception {
        return run(ht(args));
    }

    /** With these variables too. */
    private Result run(Map<String, ?> environment) throws Exception {
        ProcessBuilder command = ht();
        environment.forEach((name, value) -> command.environment().put(name, value.toString()));
        return run(command);
    }

    private long builds() {
        try {
            Path log = dir.resolve("mvn.log");
            return Files.exists(log) ? Files.readAllLines(log).size() : 0;
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(10);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as("still waiting").isLessThan(end);
            Thread.sleep(20);
        }
    }

    /** As if the project had been built a minute ago, from sources older still. */
    private void age() throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.filter(f -> !f.equals(stamp)).toList()) {
                Files.setLastModifiedTime(file, from(Instant.now().minusSeconds(120)));
            }
        }
        Files.setLastModifiedTime(stamp, from(Instant.now().minusSeconds(60)));
    }

    @Test
    void firstStartBuildsAndTheSecondDoesNot() throws Exception {
        Result first = run("doctor");
        assertThat(first.exit()).isZero();
        assertThat(first.err()).contains("ht: building", "noise of maven");
        assertThat(first.out()).contains("[hypertransfer.lab.Main]\n[doctor]\n").doesNotContain("noise");
        assertThat(Files.readString(dir.resolve("mvn.log"))).contains("mvn " + dir.resolve("jdk") + " ", " package");
        assertThat(lock).doesNotExist();

        Result second = run("doctor");
        assertThat(second.exit()).isZero();
        assertThat(second.err()).isEmpty();
        assertThat(builds()).isEqualTo(1);
    }

    /** The classes of a short run after the build; a JVM that finds no archive starts without it. */
    @Test
    void laterStartsTakeTheClassesOfAShortRun() throws Exception {
        Path classes = root.resolve("lab/target/ht.jsa");
        assertThat(run("doctor").out()).contains("[-XX:SharedArchiveFile=" + classes + "]");
        assertThat(classes).as("the fake JVM makes none").doesNotExist();
        script(dir.resolve("jdk/bin/java"), """
                #!/bin/sh
                for arg; do
                  printf '[%s]\\n' "$arg"
                  case $arg in -XX:ArchiveClassesAtExit=*) echo "$*" >"${arg#*=}" ;; esac
                done
                """);
        Files.delete(stamp);
        assertThat(run("doctor").out())
                .contains("[@" + root + "/bin/jvm.options]", "[-XX:SharedArchiveFile=" + classes + "]")
                .doesNotContain("ArchiveClassesAtExit");
        assertThat(Files.readString(classes)).contains("hypertransfer.lab.Main train " + root + "/runs/muon.yaml");
        assertThat(root.resolve("lab/target/ht.first")).doesNotExist();
        assertThat(root.resolve("lab/target/ht.jsa.new")).doesNotExist();
    }

    /** What the tests run with is what people run with. */
    @Test
    void theTestsHaveTheLaunchersOptions() throws Exception {
        List<String> options = Files.readAllLines(Path.of("../bin/jvm.options")).stream()
                .filter(line -> !line.startsWith("#"))
                .flatMap(line -> Stream.of(line.replace(" jdk.", "=jdk.").split(" ")))
                .toList();
        assertThat(options).hasSizeGreaterThan(3);
        assertThat(ManagementFactory.getRuntimeMXBean().getInputArguments()).containsAll(options);
    }

    @Test
    void argumentsArriveAsTheyAre() throws Exception {
        Result result = run("two words", "", "*", "$HOME", "--a=\"b\"", "back\\slash", "two\nlines");
        assertThat(result.out())
                .endsWith("Main]\n[two words]\n[]\n[*]\n[$HOME]\n[--a=\"b\"]\n[back\\slash]\n[two\nlines]\n");
        assertThat(result.out())
                .contains("[" + root + "/lab/target/hypertransfer-lab-1.jar:" + root + "/lab/target/app/*]");
    }

    @Test
    void theKnobsOfTheEnvironmentReachJava() throws Exception {
        assertThat(run().out()).doesNotContain("-Dht.");
        assertThat(run(Map.of("HT_THREADS", 3, "HT_VECTOR_BITS", 64)).out())
                .contains("[-Dht.threads=3]\n[-Dht.vector.bits=64]\n");
    }

    @Test
    void throughSymlinksFromAnotherFolder() throws Exception {
        Path links = Files.createDirectories(dir.resolve("links/deep"));
        Files.createSymbolicLink(dir.resolve("links/ht"), Path.of("../a project/ht"));
        Path link = Files.createSymbolicLink(links.resolve("h"), Path.of("../ht"));
        Result result = run(command(link, "x").directory(links.toFile()));
        assertThat(result.exit()).isZero();
        assertThat(result.out())
                .contains(root + "/lab/target/hypertransfer-lab-1.jar")
                .endsWith("[x]\n");
    }

    @Test
    void javaTakesTheLaunchersPlace() throws Exception {
        Result result = run(Map.of("FAKE_EXIT", 7));
        assertThat(result.exit()).isEqualTo(7);
        assertThat(result.out()).startsWith("pid=" + result.pid() + "\n");
    }

    @Test
    void aSignalIsJavas() throws Exception {
        script(dir.resolve("jdk/bin/java"), "#!/bin/sh\nkill -TERM $$\n");
        assertThat(run().exit()).as("of a process that SIGTERM ended").isEqualTo(128 + 15);
    }

    @Test
    void changedAddedAndRemovedSourcesAreBuilt() throws Exception {
        run();
        age();
        run();
        assertThat(builds()).as("nothing changed").isEqualTo(1);

        Files.setLastModifiedTime(source, from(Instant.now().minusSeconds(30)));
        run();
        run();
        assertThat(builds()).as("changed").isEqualTo(2);

        age();
        Path added = write(root.resolve("lab/src/main/resources/b.txt"), "");
        run();
        assertThat(builds()).as("added").isEqualTo(3);

        age();
        Files.delete(added);
        run();
        assertThat(builds()).as("removed").isEqualTo(4);

        age();
        Files.setLastModifiedTime(root.resolve("pom.xml"), from(Instant.now().minusSeconds(30)));
        run();
        assertThat(builds()).as("another pom").isEqualTo(5);
    }

    @Test
    void jarsOfAnEarlierVersionAreNotLeftOnTheClassPath() throws Exception {
        run();
        age();
        write(root.resolve("lab/target/hypertransfer-lab-9.jar"), "");
        write(root.resolve("lab/target/app/old.jar"), "");
        write(source, "changed");
        assertThat(run().out()).contains("hypertransfer-lab-1.jar").doesNotContain("hypertransfer-lab-9.jar");
        assertThat(root.resolve("lab/target/app/old.jar")).doesNotExist();
    }

    @Test
    void aFailedBuildIsTriedAgain() throws Exception {
        Path broken = write(dir.resolve("broken"), "");
        Result result = run();
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).contains("ht: the build failed");
        assertThat(result.out()).isEmpty();
        assertThat(stamp).doesNotExist();
        assertThat(lock).doesNotExist();

        Files.delete(broken);
        assertThat(run().exit()).isZero();
        assertThat(builds()).isEqualTo(2);
    }

    @Test
    void anInterruptedBuildLeavesNothingBehind() throws Exception {
        Path hold = write(dir.resolve("hold"), "");
        ProcessBuilder command = ht();
        Process p = start(command);
        await(() -> builds() == 1);
        assertThat(Files.isSymbolicLink(lock)).isTrue();
        p.toHandle().destroy(); // as against p.destroy(), leaves its output readable
        Files.delete(hold);
        assertThat(finish(command, p).exit()).isEqualTo(143);
        assertThat(stamp).doesNotExist();
        assertThat(Files.isSymbolicLink(lock)).isFalse();
    }

    @Test
    void concurrentFirstStartsBuildOnce() throws Exception {
        Path hold = write(dir.resolve("hold"), "");
        var first = ht("1");
        Process one = start(first);
        await(() -> builds() == 1);
        var second = ht("2");
        Process two = start(second);
        await(() -> stderr(second).contains("ht: waiting"));
        Files.delete(hold);
        assertThat(finish(first, one).out()).endsWith("[1]\n");
        assertThat(finish(second, two).out()).endsWith("[2]\n");
        assertThat(builds()).isEqualTo(1);
    }

    @Test
    void theLockOfADeadProcessIsBroken() throws Exception {
        locked(dead());
        assertThat(run().exit()).isZero();
        assertThat(builds()).isEqualTo(1);
    }

    private static long dead() throws Exception {
        Process dead = new ProcessBuilder("/bin/sh", "-c", "exit").start();
        dead.waitFor();
        return dead.pid();
    }

    /** Lets a process of this host hold the lock. */
    private Path locked(long pid) throws Exception {
        Process uname = new ProcessBuilder("/bin/sh", "-c", "uname -n").start();
        Path holder = Path.of(new String(uname.getInputStream().readAllBytes()).strip() + ":" + pid);
        Files.createDirectories(lock.getParent());
        Files.createSymbolicLink(lock, holder);
        return holder;
    }

    /** The lock was removed, and two builds ran at once. */
    @Test
    void theLockOfAnotherUsersProcessIsKept() throws Exception {
        Path holder = locked(ProcessHandle.current().pid());
        ProcessBuilder command = ht();
        // what kill answers for a living process of somebody else
        command.command(
                "/bin/sh",
                "-c",
                "kill() { return 1; }; . \"$0\"",
                root.resolve("ht").toString());
        Process waiting = start(command);
        await(() -> stderr(command).contains("ht: waiting for the build of " + holder));
        assertThat(Files.readSymbolicLink(lock)).isEqualTo(holder);
        assertThat(builds()).isZero();
        Files.delete(lock);
        assertThat(finish(command, waiting).exit()).isZero();
        assertThat(builds()).isEqualTo(1);
    }

    /** Two waiters could both remove a dead lock, the second one the first one's own. */
    @Test
    void oneWaiterAtATimeRemovesADeadLock() throws Exception {
        Path holder = locked(dead());
        Path breaking = Files.createSymbolicLink(lock.resolveSibling("ht.lock.break"), Path.of("another:1"));
        ProcessBuilder command = ht();
        Process waiting = start(command);
        await(() -> stderr(command).contains("ht: waiting"));
        assertThat(Files.readSymbolicLink(lock)).isEqualTo(holder);
        Files.delete(breaking);
        assertThat(finish(command, waiting).exit()).isZero();
        assertThat(builds()).isEqualTo(1);
        assertThat(Files.exists(breaking, LinkOption.NOFOLLOW_LINKS)).isFalse();
    }

    @Test
    void withoutAJdkItSaysHowToGetOne() throws Exception {
        jdk("old", "17.0.20");
        Result result = run(Map.of("JAVA_HOME", dir.resolve("old")));
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).startsWith("ht: no JDK 25 or newer found; install one");
        assertThat(result.err().lines()).hasSize(1);
        assertThat(builds()).isZero();
    }

    @Test
    void aJdkIsFoundOnThePathOrInTheUsualPlaces() throws Exception {
        Files.createSymbolicLink(tools.resolve("java"), Path.of("../jdk/bin/java"));
        ProcessBuilder command = ht();
        command.environment().remove("JAVA_HOME");
        assertThat(run(command).exit()).isZero();

        Files.delete(tools.resolve("java"));
        jdk(".sdkman/candidates/java/26-x", "26");
        assertThat(run(Map.of("JAVA_HOME", dir.resolve("gone"))).exit()).isZero();
    }

    @Test
    void withoutMavenItSaysSo() throws Exception {
        Files.delete(tools.resolve("mvn"));
        Result result = run();
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).startsWith("ht: mvn not found; install Maven 3.8");
        assertThat(stamp).doesNotExist();
        assertThat(lock).doesNotExist();
    }
}
