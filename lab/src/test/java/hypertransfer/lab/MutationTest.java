package hypertransfer.lab;

import hypertransfer.lab.Workshop.Command;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Tail;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Every command, with one of the files that it reads damaged: it does its work or says in a sentence what is wrong, is
 * never surprised, never touches what it reads, and takes no damaged checkpoint or data for good.
 */
class MutationTest {
    /** The commands that read all lines of a log. */
    private static final Map<String, List<String>> TELLING =
            Map.of(Run.METRICS, List.of("report", "compare"), Run.MATRICES, List.of("report", "schedule"));

    private Workshop shop;
    private Ht ht;
    private final Cases cases = new Cases("MutationTest");
    private final List<Map<String, Object>> older = new ArrayList<>(); // exports of the checkpoints before the newest

    @Test
    @Timeout(value = 3, unit = TimeUnit.HOURS)
    void everyCommandSurvivesDamage() throws Throwable {
        shop = Workshop.shared();
        ht = shop.ht;
        List<Command> quick = shop.quick(), training = shop.training();
        for (Command command : quick) {
            if (command.name().equals("export")) {
                older(command);
            }
        }
        cases.run(100, (number, random) -> {
            List<Command> among = random.nextInt(12) == 0 ? training : quick;
            Command command = among.get(random.nextInt(among.size()));
            one(number, command, random, shop.expected(command));
        });
    }

    /** Where the newest checkpoint is damaged, the one before it is taken, and the user is told. */
    private void older(Command export) throws Exception {
        List<Path> files = shop.files(export).stream()
                .filter(file -> file.toString().matches(".*/step-\\d+\\.json"))
                .toList();
        for (Path file : files.reversed()) {
            Files.delete(file);
            if (file != files.getFirst()) {
                ht.fine(export.args());
                older.add(shop.result(export));
            }
            shop.tidy(export);
        }
        for (Path file : files) {
            shop.restore(file);
        }
    }

    private void one(int number, Command command, RandomGenerator random, Map<String, Object> expected)
            throws Exception {
        List<Path> files = shop.files(command);
        Path file = files.get(random.nextInt(files.size()));
        byte[] good = Files.readAllBytes(file);
        Mutation bad = Mutation.of(good, random);
        if (file.toString().endsWith(".yaml") && !Workshop.sameSizes(good, bad.bytes())) {
            return;
        }
        Files.write(file, bad.bytes());
        String about =
                "case " + number + ", " + command.name() + ": " + shop.directory.relativize(file) + ", " + bad.what();
        int exit = ht.run(command.args());
        cases.count(command.name() + " " + exit);
        check(about, command, file, exit, expected);
        shop.restore(file);
        shop.tidy(command);
        List<String> changed = shop.changed();
        if (!changed.isEmpty()) {
            cases.wrong(about + ": changed " + changed);
            for (String name : changed) {
                Files.deleteIfExists(shop.directory.resolve(name));
            }
        }
    }

    private void check(String about, Command command, Path file, int exit, Map<String, Object> expected)
            throws Exception {
        String said = ht.err().strip();
        if (exit > 6 || said.contains("this is a bug") || said.matches("(?s).*\\b(java|tools)\\.\\w+\\..*")) {
            cases.wrong(about + ": exit " + exit + ", " + said);
        }
        if (exit > 1 && said.lines().filter(line -> line.startsWith("ht: ")).count() != 1) {
            cases.wrong(about + ": exit " + exit + " without one sentence: " + said);
        }
        Map<String, Object> result = shop.result(command);
        result.forEach((name, content) -> {
            if (name.endsWith(".part") || content.equals(false)) {
                cases.wrong(about + ": left " + name + " " + content);
            }
        });
        List<String> readers = TELLING.getOrDefault(file.getFileName().toString(), List.of());
        if (readers.contains(command.name())
                && exit == 0
                && damaged(file)
                && !(said + ht.out()).contains("damaged line")) {
            cases.wrong(about + ": not told of the damaged line");
        }
        boolean sealed = file.toString().matches(".*/(checkpoints|data)/.*");
        boolean bound = command.name().equals("export") || "half".equals(command.into());
        if (exit == 0 && sealed && bound && !trained(result).equals(trained(expected)) && !older.contains(result)) {
            cases.wrong(about + ": another result, exit 0: " + result + " instead of " + expected);
        }
    }

    /** Whether the command reads a line of this log that is none. */
    private static boolean damaged(Path file) {
        Run run = new Run(file.getParent());
        Tail tail = file.endsWith(Run.METRICS) ? run.metrics() : run.matrices();
        while (tail.next() != null) {}
        return tail.damage(false).lines() > 0;
    }

    /** What of a result must be the same: also the damaged checkpoint's own files are among the others. */
    private static Map<String, Object> trained(Map<String, Object> result) {
        Map<String, Object> trained = new TreeMap<>(result);
        trained.keySet().removeIf(name -> name.contains("checkpoints/") && !name.contains("step-00000006"));
        return trained;
    }
}
