package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** Every command in README and docs: those in code and in USE's table are run, all are understood. */
class DocumentsTest {
    private static final Path ROOT = Path.of("..");
    private static final Path USE = ROOT.resolve("docs/USE.md");
    /** What is not run here, and why. */
    private static final Map<String, String> NOT_RUN = Map.ofEntries(
            Map.entry("ht demo", "minutes; DemoTest runs the quick one"),
            Map.entry("ht demo --quick", "DemoTest runs it"),
            Map.entry("ht watch out", "serves until it is stopped; ServerTest runs it"),
            Map.entry("mpirun -n 4 ./ht train runs/muon.yaml --set model.accumulation=4", "RanksTest runs ranks"),
            Map.entry("mpirun -n 2 ./ht train out/muon", "RanksTest resumes on another number of ranks"),
            Map.entry(
                    "ht reproduce out/arena-853k/experiment.yaml --out out/arena-853k",
                    "ResultsTest unpacks and runs it"),
            Map.entry("ht selftest --engine cuda", "a card"),
            Map.entry("ht conformance DIR --engine cuda", "a card"),
            Map.entry("ht bench --preset gpt2-124m --engine cuda --operations", "a card"),
            Map.entry("ht bench --preset gpt2-124m --network M1 --engine cuda --seconds 4 --json", "a card"));

    private static final Pattern INLINE = Pattern.compile("`((?:\\./)?ht [^`]*)`");
    private static final Pattern LINK = Pattern.compile("\\]\\((?!https?:)([^)#]*)(#[^)]*|)\\)");
    /** A test, or some of its methods, and how many cases it is said to have. */
    private static final Pattern NAMED = Pattern.compile("`(\\w+Test)((?:(?:`, `)?\\.\\w+)*)`(?: \\((\\d+) )?");
    /** A word that stands for something: DIR, [--set KEY=VALUE], P, or three dots. */
    private static final Pattern TEMPLATE = Pattern.compile(".*(\\[|\\.\\.\\.|(^|[ =])[A-Z]+\\b(?![0-9=])).*");

    @TempDir
    Path dir;

    private final Ht ht = new Ht();

    @BeforeEach
    void given() throws IOException {
        Files.writeString(dir.resolve("norms.csv"), """
                step,matrix,weight_norm,update_norm,inner_product,rate,decay
                0,fc,2.0,0.3,0.1,0.1,0.1
                1,fc,2.0,0.3,0.1,0.1,0.1
                """);
        Files.writeString(
                Files.createDirectories(dir.resolve("my-texts")).resolve("a.txt"), "some words of mine\n".repeat(800));
        Files.createDirectories(dir.resolve("out"));
        Files.copy(dir.resolve("norms.csv"), dir.resolve("out/norms.csv"));
    }

    @Test
    void readme() throws IOException {
        run("train runs/muonh.yaml"); // what the table supposes to be there
        List<String> commands = new ArrayList<>(blocks(ROOT.resolve("README.md")));
        Files.readAllLines(USE).stream()
                .filter(line -> line.startsWith("| `ht "))
                .flatMap(line -> inline(line.split("\\|")[1]))
                .filter(command ->
                        command.contains(" ") && command.split(" ").length > 2 || command.equals("ht doctor"))
                .filter(command -> !TEMPLATE.matcher(command).matches())
                .forEach(commands::add);
        assertThat(commands).hasSizeGreaterThan(12);
        // Shards are written by a later row than the one that trains on them.
        commands.sort((a, b) -> Boolean.compare(b.contains("tokenize"), a.contains("tokenize")));
        commands.forEach(this::check);
    }

    @Test
    void recipes() throws IOException {
        List<String> commands = blocks(USE);
        assertThat(commands).hasSizeGreaterThan(15);
        commands.forEach(this::check);
    }

    /** Said 749 steps, and the program 748. */
    @Test
    void estimatesAreThoseOfTheProgram() throws IOException {
        Path muon = ROOT.resolve("runs/muon.yaml");
        String use = Files.readString(USE), tutorial = Files.readString(ROOT.resolve("docs/TUTORIAL.md"));
        assertThat(use).contains(found("after \\d+ steps", ht.fine("predict", muon)));
        String carried = ht.fine("rates", muon, "--set matrices.rate=0.06 --to muonh");
        assertThat(use)
                .contains("It answers %.4f".formatted(Double.valueOf(found("(?<=all {1,20})0[.]\\d+", carried))));
        carried = ht.fine("rates", muon, "--to muonh");
        assertThat(tutorial).contains("**%.4f**".formatted(Double.valueOf(found("(?<=all {1,20})0[.]\\d+", carried))));
    }

    @Test
    void theHelpHasTheResultsOfTheDocument() throws IOException {
        String carried = "0[.]\\d+ below to 0[.]\\d+ above those of a grid";
        assertThat(found(carried, ht.fine("rates", "--help")))
                .isEqualTo(found(carried, Files.readString(ROOT.resolve("docs/RESULTS.md"))));
    }

    private static String found(String pattern, String text) {
        return Pattern.compile(pattern)
                .matcher(text)
                .results()
                .findFirst()
                .orElseThrow()
                .group();
    }

    @Test
    void otherDocuments() throws IOException {
        for (Path document : documents()) {
            if (!document.endsWith("README.md") && !document.endsWith("USE.md")) {
                blocks(document).forEach(this::check);
            }
        }
    }

    /** A name that has changed is found in prose too. */
    @Test
    void everyMentionIsUnderstood() throws IOException {
        List<String> all = new ArrayList<>();
        for (Path document : documents()) {
            inline(Files.readString(document)).forEach(all::add);
        }
        assertThat(all).hasSizeGreaterThan(30);
        all.stream()
                .distinct()
                .filter(command -> !command.startsWith("ht COMMAND"))
                .forEach(DocumentsTest::understood);
    }

    /** What a document says a test shows is worth as much as the test, which may have moved. */
    @Test
    void everyTestThatIsNamedExists() throws IOException {
        Map<String, String> tests = new HashMap<>();
        try (Stream<Path> files =
                Files.find(ROOT, 12, (file, is) -> file.toString().matches(".*/src/test/.*Test.java"))) {
            for (Path file : files.toList()) {
                tests.merge(file.getFileName().toString().replace(".java", ""), Files.readString(file), String::concat);
            }
        }
        List<String> missing = new ArrayList<>();
        for (Path document : documents()) {
            NAMED.matcher(Files.readString(document)).results().forEach(named -> {
                String test = tests.getOrDefault(named.group(1), "");
                Stream<String> methods = Stream.of(named.group(2).split("[`, .]+"))
                        .filter(name -> !name.isEmpty())
                        .map(name -> " " + name + "(");
                Stream<String> cases = Stream.ofNullable(named.group(3)).map(count -> "cases.run(" + count + ",");
                if (test.isEmpty() || !Stream.concat(methods, cases).allMatch(test::contains)) {
                    missing.add(document + ": " + named.group());
                }
            });
        }
        assertThat(missing).isEmpty();
        assertThat(tests).hasSizeGreaterThan(100);
    }

    /** Nobody should start what takes hours without knowing. */
    @Test
    void aTimeStandsBesideEveryCommandOfTheReadme() throws IOException {
        List<String> lines = Files.readAllLines(ROOT.resolve("README.md"));
        assertThat(Files.readAllLines(USE).stream().filter(line -> line.startsWith("| `ht ")))
                .hasSizeGreaterThan(10)
                .allMatch(row -> row.split("\\|")[2].matches(" (as the run|\\d+( s| min| MB/s)( to \\d+ min)?) "));
        List<String> untimed = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            if (lines.get(i).matches(" {4}(\\./ht|mvn) .*")) { // its own line says it, or the sentence above
                String said = String.join(" ", lines.subList(Math.max(0, i - 2), i))
                        + lines.get(i).replaceFirst(".*#", "#");
                if (!(lines.get(i).contains("#") ? lines.get(i) : said).matches(".*(\\d+ (seconds|minutes)|hours).*")) {
                    untimed.add(lines.get(i));
                }
            }
        }
        assertThat(untimed).isEmpty();
        assertThat(lines).anyMatch(line -> line.matches(" {4}\\./ht .*"));
    }

    /** Links, with the headings that they name, and lines that fit a screen. */
    @Test
    void everyLinkLeadsSomewhere() throws IOException {
        List<Path> all = new ArrayList<>(documents());
        Stream.of("core/README.md", "djl/README.md", "docs/runs/README.md", "notes/LOG.md")
                .forEach(name -> all.add(ROOT.resolve(name)));
        List<String> broken = new ArrayList<>();
        for (Path document : all) {
            String text = Files.readString(document);
            for (var link : LINK.matcher(text).results().toList()) {
                Path to = link.group(1).isEmpty() ? document : document.resolveSibling(link.group(1));
                if (!Files.exists(to)
                        || !link.group(2).isEmpty() && !headings(to).contains(link.group(2))) {
                    broken.add(document + ": " + link.group());
                }
            }
            if (!document.endsWith("LOG.md")) {
                text.lines()
                        .filter(line -> line.length() > 160 && !line.startsWith("|"))
                        .forEach(line -> broken.add(document + ": a long line: " + line));
            }
        }
        assertThat(broken).isEmpty();
    }

    /** As a page names them in addresses. */
    private static List<String> headings(Path document) throws IOException {
        return Files.readAllLines(document).stream()
                .filter(line -> line.matches("#+ .*"))
                .map(line -> "#"
                        + line.replaceFirst("#+ ", "")
                                .toLowerCase()
                                .replaceAll("[^a-z0-9 _-]", "")
                                .replace(' ', '-'))
                .toList();
    }

    private static List<Path> documents() throws IOException {
        try (Stream<Path> files = Files.list(ROOT.resolve("docs"))) {
            return Stream.concat(
                            Stream.of(ROOT.resolve("README.md")),
                            files.filter(file -> file.toString().endsWith(".md")))
                    .sorted()
                    .toList();
        }
    }

    /** The commands in code, without what is said of them behind. */
    private static List<String> blocks(Path document) throws IOException {
        return Files.readAllLines(document).stream()
                .filter(line -> line.matches(" {4}((\\./)?ht|mpirun|HT_\\w+=\\S+ \\./ht) .*"))
                .map(line -> line.strip().replaceFirst(" {2,}.*| +#.*", "").replaceFirst("^\\./", ""))
                .toList();
    }

    private static Stream<String> inline(String text) {
        return INLINE.matcher(text).results().map(found -> found.group(1).replaceFirst("^\\./", ""));
    }

    private void check(String command) {
        understood(command);
        if (!NOT_RUN.containsKey(command)) {
            run(command.substring(3));
        }
    }

    /** Parsed as the command line itself does; of a template only the command and its options. */
    private static void understood(String command) {
        Matcher after = Pattern.compile("(?:.*\\./)?ht (.*)").matcher(command);
        assertThat(after.matches()).as(command).isTrue();
        List<String> words = words(after.group(1));
        CommandLine line = Main.commands(words.getFirst());
        int at = 0;
        while (at < words.size() && line.getSubcommands().containsKey(words.get(at))) {
            line = line.getSubcommands().get(words.get(at++));
        }
        assertThat(at).as("'" + command + "' names a command").isPositive();
        if (at == words.size()) {
            return;
        }
        if (TEMPLATE.matcher(command).matches()) {
            for (String word : words) {
                String option = word.replaceFirst("^\\[", "").replaceFirst("[=\\]].*", "");
                if (option.startsWith("-")) {
                    assertThat(line.getCommandSpec().optionsMap()).as(command).containsKey(option);
                }
            }
        } else if (words.subList(at, words.size()).stream().anyMatch(word -> !word.startsWith("-"))) {
            Main.commands(words.getFirst()).parseArgs(words.toArray(String[]::new));
        }
    }

    /** As a shell takes them apart; quotes keep spaces together. */
    private static List<String> words(String command) {
        return Pattern.compile("\"([^\"]*)\"|\\S+")
                .matcher(command)
                .results()
                .map(word -> word.group(1) == null ? word.group() : word.group(1))
                .toList();
    }

    /** In this test's own directory, small where it trains. */
    private void run(String command) {
        List<String> words = new ArrayList<>();
        for (String word : words(command)) {
            words.add(word.replaceFirst("^runs/", "../runs/")
                    .replaceFirst("^(.*=)?(out|shards|my-texts|norms\\.csv|mine\\.yaml)(/|$)", "$1" + dir + "/$2$3"));
        }
        String name = words.getFirst();
        boolean begins = !command.startsWith("train out/"); // a run that is continued has its settings
        if (begins
                && List.of("train", "sweep", "reproduce", "fair", "invariance", "bench")
                        .contains(name)) {
            words.addAll(Ht.TINY);
            if (name.equals("bench")) {
                words.set(words.indexOf("--seconds") + 1, "0.01");
            } else if (command.contains("preset=mid")) { // 50,304 words take their time
                words.addAll(Ht.set("steps=1"));
            } else if (name.equals("train")) { // the others train several runs
                words.addAll(Ht.set("steps=12"));
            }
        }
        if (begins
                && !command.contains("--out")
                && List.of("train", "sweep", "reproduce", "report").contains(name)) {
            String input = words.get(1).replaceFirst(".*/", "").replaceFirst("\\.yaml$", "");
            String to = name.equals("train") && command.contains("mid") ? "mid" : name.equals("train") ? input : name;
            words.addAll(List.of("--out", dir.resolve("out").resolve(to).toString()));
        }
        if (name.equals("runs") && words.size() == 1) {
            words.add(dir.resolve("out").toString());
        }
        assertThat(ht.run(words)).as(command + ": " + ht.err()).isZero();
    }
}
