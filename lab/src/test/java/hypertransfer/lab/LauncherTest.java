package hypertransfer.lab;

import static java.nio.file.attribute.FileTime.from;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
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

    private Path root, tools, stamp, lock;

    @BeforeEach
    void project() throws Exception {
        dir = dir.toRealPath();
        root = dir.resolve("a project");
        // The real machine's JDKs must not be found: nothing but the fake JDK below is there to find.
        for (String script : List.of("ht", "bin/jdk")) {
            String text = Files.readString(Path.of("..", script));
            for (String place : List.of("/usr/lib/jvm/", "/Library/", "/opt/homebrew/", "/usr/local/")) {
                text = text.replace(" " + place, " " + dir + "/nowhere/");
            }
            script(root.resolve(script), text);
        }
        for (String file : List.of("lab/src/main/java/A.java", "runs/a.yaml", "pom.xml", "lab/pom.xml")) {
            write(root.resolve(file), "");
        }
        stamp = root.resolve("lab/target/ht.stamp");
        lock = root.resolve("lab/target/ht.lock");
        jdk("jdk", "25.0.3");
        tools = dir.resolve("tools");
        for (String tool : "sed dirname readlink find head uname mkdir ln rm mv sleep touch id".split(" ")) {
            Path found = Path.of(Files.exists(Path.of("/usr/bin", tool)) ? "/usr/bin" : "/bin", tool);
            script(tools.resolve(tool), "#!/bin/sh\nexec " + found + " \"$@\"\n");
        }
        script(tools.resolve("mvn"), """
                #!/bin/sh
                echo "mvn $JAVA_HOME $*" >>"%1$s/mvn.log"
                echo "noise of maven"
                echo "[WARNING] noise of a plugin about -Dht.threads"
                echo "[WARNING] A.java:[44,49] noise of a compiler: it is a restricted method"
                echo "[INFO] Building HyperTransfer: a module 1 [1/6]"
                [ ! -e "%1$s/broken" ] || echo "[ERROR] that is why"
                while [ -e "%1$s/hold" ]; do sleep 0.05; done
                [ ! -e "%1$s/broken" ] || exit 1
                mkdir -p lab/target/app && : >lab/target/hypertransfer-lab-1.jar
                """.formatted(dir));
    }

    private void jdk(String name, String version) throws IOException {
        Path home = dir.resolve(name);
        write(home.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
        script(home.resolve("bin/javac"), "#!/bin/sh\n");
        java(home, "echo \"pid=$$\"\nfor arg; do printf '[%s]\\n' \"$arg\"; done\nexit ${FAKE_EXIT:-0}\n");
    }

    private static void java(Path home, String does) throws IOException {
        script(home.resolve("bin/java"), "#!/bin/sh\n" + does);
    }

    private static Path write(Path file, String text) throws IOException {
        Files.createDirectories(file.getParent());
        return Files.writeString(file, text);
    }

    private static void script(Path file, String text) throws IOException {
        assertThat(write(file, text).toFile().setExecutable(true)).isTrue();
    }

    /** A launcher that was started. */
    private record Started(Process process, Path errors) {
        String err() throws IOException {
            return Files.readString(errors);
        }

        Result end() throws Exception {
            String out = new String(process.getInputStream().readAllBytes());
            assertThat(process.waitFor(10, TimeUnit.MINUTES)).isTrue();
            return new Result(process.exitValue(), out, err(), process.pid());
        }
    }

    private record Result(int exit, String out, String err, long pid) {}

    private Started start(Map<String, ?> environment, String... words) throws IOException {
        ProcessBuilder command = new ProcessBuilder(words).directory(dir.toFile());
        command.environment().clear();
        command.environment().putAll(Map.of("PATH", "" + tools, "HOME", "" + dir, "JAVA_HOME", dir + "/jdk"));
        environment.forEach((name, value) -> command.environment().put(name, value.toString()));
        Path errors = Files.createTempFile(dir, "err", "");
        return new Started(command.redirectError(errors.toFile()).start(), errors);
    }

    private Started start(String... args) throws IOException {
        return start(
                Map.of(),
                Stream.concat(Stream.of(root + "/ht"), Stream.of(args)).toArray(String[]::new));
    }

    private Result run(String... args) throws Exception {
        return start(args).end();
    }

    /** With these variables too. */
    private Result run(Map<String, ?> environment) throws Exception {
        return start(environment, root + "/ht").end();
    }

    private long builds() throws IOException {
        Path log = dir.resolve("mvn.log");
        return Files.exists(log) ? Files.readAllLines(log).size() : 0;
    }

    private static void await(Callable<Boolean> condition) throws Exception {
        long end = System.nanoTime() + TimeUnit.MINUTES.toNanos(10);
        while (!condition.call()) {
            assertThat(System.nanoTime()).as("still waiting").isLessThan(end);
            Thread.sleep(20);
        }
    }

    /** As if the project had been built a minute ago, from sources older still. */
    private void age() throws IOException {
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.toList()) {
                Files.setLastModifiedTime(file, from(Instant.now().minusSeconds(file.equals(stamp) ? 60 : 120)));
            }
        }
    }

    private void nothingIsLeft() {
        assertThat(stamp).doesNotExist();
        assertThat(Files.isSymbolicLink(lock)).isFalse();
    }

    /** Arguments arrive as they are, standard output is the command's, and the second start does not build. */
    @Test
    void firstStartBuildsAndTheSecondDoesNot() throws Exception {
        Result first = run("two words", "", "*", "$HOME", "--a=\"b\"", "back\\slash", "two\nlines");
        assertThat(first.exit()).isZero();
        assertThat(first.err()).contains("ht: building (first use", "ht: building: a module 1 [1/6]");
        assertThat(first.err()).doesNotContain("noise");
        assertThat(first.out())
                .contains("[" + root + "/lab/target/hypertransfer-lab-1.jar:" + root + "/lab/target/app/*]")
                .endsWith("[hypertransfer.lab.Main]\n[two words]\n[]\n[*]\n[$HOME]\n[--a=\"b\"]\n[back\\slash]\n"
                        + "[two\nlines]\n")
                .doesNotContain("noise", "-Dht.");
        assertThat(Files.readString(dir.resolve("mvn.log"))).contains("mvn " + dir.resolve("jdk") + " ", " package");
        assertThat(Files.isSymbolicLink(lock)).isFalse();

        Result second = run(Map.of("HT_THREADS", 3, "HT_VECTOR_BITS", 64));
        assertThat(second.exit()).isZero();
        assertThat(second.err()).isEmpty();
        assertThat(second.out()).contains("[-Dht.threads=3]\n[-Dht.vector.bits=64]\n");
        assertThat(builds()).isEqualTo(1);
    }

    /** In the locale C the JVM could not find its own jars in a folder whose name is not ASCII. */
    @Test
    void aLocaleWithoutLettersIsReplaced() throws Exception {
        java(dir.resolve("jdk"), "echo \"LC_ALL=$LC_ALL\"\n");
        for (Map<String, String> environment :
                List.of(Map.of("LC_ALL", "C"), Map.of("LANG", "POSIX"), Map.<String, String>of())) {
            assertThat(run(environment).out()).contains("LC_ALL=C.UTF-8\n");
        }
        assertThat(run(Map.of("LANG", "de_DE.UTF-8")).out()).contains("LC_ALL=\n");
    }

    /** The classes of a short run after the build; a JVM that finds no archive starts without it. */
    @Test
    void laterStartsTakeTheClassesOfAShortRun() throws Exception {
        Path classes = root.resolve("lab/target/ht.jsa");
        assertThat(run("doctor").out())
                .contains("[-XX:SharedArchiveFile=" + classes + "]")
                .contains("[-XX:+VerifySharedSpaces]"); // a damaged one ended the JVM
        assertThat(classes).as("the fake JVM makes none").doesNotExist();
        java(dir.resolve("jdk"), """
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

    /** Beside its options it is a release's launcher: it builds nothing, and needs a JDK only where the release has no runtime. */
    @Test
    void aReleaseRunsWhatItBrings() throws Exception {
        Files.move(root.resolve("ht"), root.resolve("bin/ht"));
        write(root.resolve("bin/jvm.options"), "");
        Result onAJdk = start(Map.of(), root + "/bin/ht", "two words").end();
        assertThat(onAJdk.out()).contains("[" + root + "/lib/*]\n").endsWith("[hypertransfer.lab.Main]\n[two words]\n");
        assertThat(onAJdk.err()).isEmpty();
        java(root.resolve("runtime"), "echo \"own runtime $*\"\n");
        Result onItsOwn = start(Map.of("JAVA_HOME", "/none"), root + "/bin/ht").end();
        assertThat(onItsOwn.out()).startsWith("own runtime @" + root + "/bin/jvm.options ");
        assertThat(builds()).isZero();
    }

    /** The folder of libraries to load is nobody else's: another user could have put their own there. */
    @Test
    void cachesGoWhereTheyCanBeWritten() throws Exception {
        Path temporary = Files.createDirectory(dir.resolve("tmp"));
        java(dir.resolve("jdk"), "echo \"$XDG_CACHE_HOME\"\nfor arg; do printf '[%s]\\n' \"$arg\"; done\n");
        String option = "[-Dorg.bytedeco.javacpp.cachedir=%s/hypertransfer/natives]\n";
        for (var made : Map.of(
                        Map.of("HOME", dir), dir.resolve(".cache"),
                        Map.of("HOME", dir, "XDG_CACHE_HOME", dir + "/fast"), dir.resolve("fast"))
                .entrySet()) {
            assertThat(run(made.getKey()).out())
                    .startsWith(made.getValue() + "\n")
                    .contains(option.formatted(made.getValue()));
            assertThat(made.getValue().resolve("hypertransfer")).isDirectory();
        }
        Map<String, Object> readOnly = Map.of("HOME", "/dev/null", "TMPDIR", temporary);
        for (int start = 0; start < 2; start++) {
            String out = run(readOnly).out();
            assertThat(out)
                    .startsWith(temporary + "/hypertransfer-")
                    .contains(option.formatted(out.lines().findFirst().orElseThrow()));
        }
        Path own = Path.of(run(readOnly).out().lines().findFirst().orElseThrow());
        assertThat(Files.getPosixFilePermissions(own)).isEqualTo(PosixFilePermissions.fromString("rwx------"));
        Files.delete(own);
        Files.createSymbolicLink(own, Files.createDirectory(dir.resolve("planted")));
        script(tools.resolve("mktemp"), "#!/bin/sh\necho " + dir + "/fresh\n");
        assertThat(run(readOnly).out()).startsWith(dir + "/fresh\n");
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

    /** Through two links; and Java takes the launcher's place, so that its exit code and signals are the launcher's. */
    @Test
    void throughSymlinksJavaTakesTheLaunchersPlace() throws Exception {
        Files.createDirectories(dir.resolve("links/deep"));
        Files.createSymbolicLink(dir.resolve("links/ht"), Path.of("../a project/ht"));
        Path link = Files.createSymbolicLink(dir.resolve("links/deep/h"), Path.of("../ht"));
        Result result = start(Map.of("FAKE_EXIT", 7), link.toString(), "x").end();
        assertThat(result.exit()).isEqualTo(7);
        assertThat(result.out())
                .startsWith("pid=" + result.pid() + "\n")
                .contains(root + "/lab/target/hypertransfer-lab-1.jar")
                .endsWith("[x]\n");
        java(dir.resolve("jdk"), "kill -TERM $$\n");
        assertThat(run().exit()).as("of a process that SIGTERM ended").isEqualTo(128 + 15);
    }

    @Test
    void changedAddedAndRemovedSourcesAreBuilt() throws Exception {
        run();
        age();
        run();
        assertThat(builds()).as("nothing changed").isEqualTo(1);
        Path added = root.resolve("lab/src/main/resources/b.txt");
        long built = 1;
        for (String what : List.of("changed", "added", "removed", "another pom")) {
            age();
            switch (what) {
                case "added" -> write(added, "");
                case "removed" -> Files.delete(added);
                default -> {
                    String file = what.equals("changed") ? "lab/src/main/java/A.java" : "pom.xml";
                    Files.setLastModifiedTime(
                            root.resolve(file), from(Instant.now().minusSeconds(30)));
                }
            }
            run();
            run();
            assertThat(builds()).as(what).isEqualTo(++built);
        }
    }

    @Test
    void jarsOfAnEarlierVersionAreNotLeftOnTheClassPath() throws Exception {
        run();
        age();
        write(root.resolve("lab/target/hypertransfer-lab-9.jar"), "");
        write(root.resolve("lab/target/app/old.jar"), "");
        write(root.resolve("lab/src/main/java/A.java"), "changed");
        assertThat(run().out()).contains("hypertransfer-lab-1.jar").doesNotContain("hypertransfer-lab-9.jar");
        assertThat(root.resolve("lab/target/app/old.jar")).doesNotExist();
    }

    @Test
    void aFailedBuildIsTriedAgain() throws Exception {
        Path broken = write(dir.resolve("broken"), "");
        Result result = run();
        assertThat(result.exit()).isEqualTo(2);
        assertThat(result.err()).contains("[ERROR] that is why\nht: the build failed");
        assertThat(result.out()).isEmpty();
        nothingIsLeft();
        Files.delete(broken);
        assertThat(run().exit()).isZero();
        assertThat(builds()).isEqualTo(2);
    }

    @Test
    void anInterruptedBuildLeavesNothingBehind() throws Exception {
        Path hold = write(dir.resolve("hold"), "");
        Started started = start();
        await(() -> builds() == 1);
        assertThat(Files.isSymbolicLink(lock)).isTrue();
        started.process.toHandle().destroy(); // as against destroy() of the process, leaves its output readable
        Files.delete(hold);
        assertThat(started.end().exit()).isEqualTo(143);
        nothingIsLeft();
    }

    @Test
    void concurrentFirstStartsBuildOnce() throws Exception {
        Path hold = write(dir.resolve("hold"), "");
        Started first = start("1");
        await(() -> builds() == 1);
        Started second = start("2");
        await(() -> second.err().contains("ht: waiting"));
        Files.delete(hold);
        assertThat(first.end().out()).endsWith("[1]\n");
        assertThat(second.end().out()).endsWith("[2]\n");
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
        // what kill answers for a living process of somebody else
        Started waiting = start(Map.of(), "/bin/sh", "-c", "kill() { return 1; }; . \"$0\"", root + "/ht");
        await(() -> waiting.err().contains("ht: waiting for the build of " + holder));
        assertThat(Files.readSymbolicLink(lock)).isEqualTo(holder);
        assertThat(builds()).isZero();
        Files.delete(lock);
        assertThat(waiting.end().exit()).isZero();
        assertThat(builds()).isEqualTo(1);
    }

    /** Two waiters could both remove a dead process's lock, the second one the first one's own. */
    @Test
    void oneWaiterAtATimeRemovesADeadLock() throws Exception {
        Path holder = locked(dead());
        Path breaking = Files.createSymbolicLink(lock.resolveSibling("ht.lock.break"), Path.of("another:1"));
        Started waiting = start();
        await(() -> waiting.err().contains("ht: waiting"));
        assertThat(Files.readSymbolicLink(lock)).isEqualTo(holder);
        Files.delete(breaking);
        assertThat(waiting.end().exit()).isZero();
        assertThat(builds()).isEqualTo(1);
        assertThat(Files.exists(breaking, LinkOption.NOFOLLOW_LINKS)).isFalse();
    }

    @Test
    void aJdkIsFoundOnThePathOrInTheUsualPlaces() throws Exception {
        Files.createSymbolicLink(tools.resolve("java"), Path.of("../jdk/bin/java"));
        assertThat(run(Map.of("JAVA_HOME", "")).exit()).isZero();
        Files.delete(tools.resolve("java"));
        jdk(".sdkman/candidates/java/26-x", "26");
        assertThat(run(Map.of("JAVA_HOME", dir.resolve("gone"))).exit()).isZero();
    }

    @Test
    void withoutAJdkOrMavenItSaysHowToGetOne() throws Exception {
        jdk("old", "17.0.20");
        Result old = run(Map.of("JAVA_HOME", dir.resolve("old")));
        assertThat(old.exit()).isEqualTo(2);
        assertThat(old.err()).startsWith("ht: no JDK 25 or newer found; install one");
        assertThat(old.err().lines()).hasSize(1);
        Files.delete(tools.resolve("mvn"));
        Result without = run();
        assertThat(without.exit()).isEqualTo(2);
        assertThat(without.err()).startsWith("ht: mvn not found; install Maven 3.8");
        nothingIsLeft();
    }
}
