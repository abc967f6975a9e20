package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.lang.module.ModuleFinder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The libraries as modules, although the command line and the tests run on the class path. */
class ModulesTest {
    private static final List<String> OURS =
            List.of("hypertransfer.core", "hypertransfer.prediction", "hypertransfer.engine", "hypertransfer.train");

    @TempDir
    Path dir;

    /** Trains and saves, so that OpenBLAS is unpacked and Jackson writes records that are not public. */
    @Test
    void theLibrariesWorkAsModules() throws Exception {
        Map<Boolean, List<Path>> paths = Stream.of(
                        System.getProperty("java.class.path").split(File.pathSeparator))
                .map(entry -> Path.of(entry).toAbsolutePath())
                .collect(Collectors.partitioningBy(ModulesTest::described));
        List<String> command = new ArrayList<>(List.of(
                System.getProperty("java.home") + "/bin/java", "@../bin/jvm.options", "-XX:TieredStopAtLevel=1"));
        command.addAll(List.of("--enable-native-access=hypertransfer.engine", "-Xlog:module+load=info"));
        command.addAll(List.of("--add-modules", String.join(",", OURS), "-p", joined(paths.get(true))));
        command.addAll(
                List.of("-cp", joined(paths.get(false)), "hypertransfer.lab.Main", "train", "../runs/muon.yaml"));
        command.addAll(List.of("--out", dir.resolve("run").toString(), "--set", "engine=cpu", "--set", "steps=2"));
        command.addAll(List.of("--set", "model.layers=1", "--set", "model.width=32", "--set", "model.sequence=8"));
        command.addAll(List.of("--set", "model.batch=1", "--set", "validation.batches=1"));
        String out = Child.output(command.toArray(String[]::new));
        for (String module : OURS) {
            assertThat(out).containsPattern(module + " location: file:\\S+");
        }
        assertThat(dir.resolve("run/checkpoints/step-00000002.json")).isNotEmptyFile();
    }

    /** What ours need as modules. The natives name a module that is not there, so they stay on the class path. */
    private static boolean described(Path entry) {
        return ModuleFinder.of(entry).findAll().stream()
                .map(found -> found.descriptor().name())
                .anyMatch(
                        name -> OURS.contains(name)
                                || name.matches(
                                        "tools\\.jackson.*|com\\.fasterxml.*|org\\.snakeyaml.*|jtokkit|org\\.bytedeco\\.javacpp"));
    }

    private static String joined(List<Path> paths) {
        return paths.stream().map(Path::toString).collect(Collectors.joining(File.pathSeparator));
    }
}
