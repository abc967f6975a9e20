package hypertransfer.lab;

import hypertransfer.train.file.Folder;
import hypertransfer.train.log.Run;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/**
 * A small specimen of everything that a command reads, and every command that reads or writes files, with arguments that
 * fit. Whoever damages something puts it back.
 */
final class Workshop {
    static final String OUT = "made";

    final Path directory;
    private final Path kept;
    /** Whose operations on files go through {@link Disk}. */
    final Ht ht;

    private final Map<Command, Map<String, Object>> expected = new HashMap<>();
    private Map<String, String> before;

    /**
     * A command.
     *
     * @param reads the files and directories that it reads
     * @param args its arguments; what it writes new is called {@link #OUT} with any ending
     * @param into the run that it continues, or null
     */
    record Command(String name, List<String> reads, String into, List<String> args) {}

    private Workshop(Path directory) throws ReflectiveOperationException {
        this.directory = directory;
        ht = new Ht(new Shim());
        kept = directory.resolveSibling(directory.getFileName() + "-kept");
    }

    private static Workshop shared;

    /** One for all tests, since it takes seconds to make. */
    static synchronized Workshop shared() throws IOException, ReflectiveOperationException {
        if (shared == null) {
            Path root = Files.createTempDirectory("workshop");
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                try {
                    Folder.delete(root);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }));
            Workshop shop = new Workshop(Files.createDirectory(root.resolve("shop")));
            shop.make();
            copy(shop.directory, shop.kept);
            shop.before = stamps(shop.kept);
            shared = shop;
        }
        return shared;
    }

    private Path at(String name) {
        return directory.resolve(name);
    }

    private void make() throws IOException {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 300; i++) {
            text.append("Document ").append(i).append(" has words, and some more words.\n<|endoftext|>\n");
        }
        Files.writeString(at("text.txt"), text);
        Files.writeString(at("lines.jsonl"), "{\"text\": \"one\", \"id\": 1}\n{\"text\": \"two \\u00e9\"}\n".repeat(9));
        ht.fine("data tokenize", at("text.txt"), "--tokens bytes --validation 0.3 --out", at("data"));
        Files.writeString(at("tiny.yaml"), """
                engine: reference
                steps: 6
                seed: 7
                model: {layers: 1, width: 8, head: 4, sequence: 8, batch: 1, vocab: 256}
                matrices: {rate: 0.02, decay: 0.1}
                validation: {batches: 1}
                checkpoint: {every: 2, keep: 3}
                data: {train: %s, validation: %s}
                """.formatted(at("data"), at("data")));
        Files.writeString(at("experiment.yaml"), Ht.EXPERIMENT);
        ht.fine("train", at("tiny.yaml"), "--out", at("muon"));
        ht.fine("transfer", at("muon"), "--mode", "hypertransfer-plus", "--out", at("twin"));
        ht.fine("schedule", at("muon"), "--out", at("schedule.json"));
        ht.fine("sweep", at("tiny.yaml"), "--grid", "rate=0.01,0.02", "--out", at("sweep"));
        ht.fine("reproduce", at("experiment.yaml"), "--out", at("experiment"));
        copy(at("muon"), at("half"));
        for (String ending : List.of(".json", ".safetensors")) {
            Files.delete(at("half/checkpoints/step-00000006" + ending));
        }
        Files.writeString(at("norms.csv"), """
                step,matrix,weight_norm,direction_norm,rate,decay
                0,fc,2,3,0.5,0.4
                0,q,2.5,3,0.5,0.4
                1,fc,2.1,3,0.4,0.4
                1,q,2.6,3,0.4,0.4
                2,fc,2.2,3,0.3,0.4
                2,q,2.7,3,0.3,0.4
                """);
        Files.writeString(
                at("blocks.csv"), Files.readString(at("norms.csv")).replaceAll(",(fc|q),", ",blocks.0.attn.q.weight,"));
        Files.writeString(at("norms.jsonl"), """
                {"step":0,"weight_norm/fc":2,"update_norm/fc":1,"rate":0.1,"decay":0}
                {"step":1,"weight_norm/fc":2,"update_norm/fc":1,"rate":0.1,"decay":0}
                """);
        ConformanceTest.golden(Files.createDirectory(at("golden")));
    }

    /** @param line the arguments; {@code @} stands for this directory */
    private Command command(String reads, String into, String line) {
        List<String> args = Stream.of(line.split(" "))
                .map(word -> word.startsWith("@") ? at(word.substring(1)).toString() : word)
                .toList();
        String name = args.get(args.getFirst().equals("data") ? 1 : 0);
        return new Command(name, List.of(reads.split(" ")), into, args);
    }

    /** Those that train, or continue something, or compare trajectories. */
    List<Command> training() {
        return List.of(
                command("golden", null, "conformance @golden --engine reference"),
                command("tiny.yaml data", null, "train @tiny.yaml --out @made"),
                command("half data", "half", "train @half"),
                command("muon", null, "transfer @muon --mode hypertransfer --out @made"),
                command("muon", null, "transfer @muon --mode base --at 2 --out @made"),
                command("muon", null, "verify @muon"),
                command("tiny.yaml", null, "sweep @tiny.yaml --grid rate=0.01,0.03 --out @made"),
                command("experiment.yaml", null, "reproduce @experiment.yaml --out @made"));
    }

    /** Those that are done in milliseconds. */
    List<Command> quick() {
        String tokenize = "--out @made --tokens bytes --validation 0.3 ";
        return List.of(
                command("sweep tiny.yaml", "sweep", "sweep @tiny.yaml --grid rate=0.01,0.02 --out @sweep"),
                command("experiment", "experiment", "reproduce @experiment.yaml --out @experiment"),
                command("muon twin", null, "report @muon @twin --out @made.html"),
                command("twin", null, "export @twin --out @made.safetensors"),
                command("muon", null, "sample @muon --prompt a --tokens 2"),
                command("muon", null, "schedule @muon --series effective --out @made.json"),
                command(
                        "text.txt lines.jsonl",
                        null,
                        "data tokenize @text.txt @lines.jsonl " + tokenize + "--shard-tokens 4000"),
                command("text.txt", null, "data tokenize @text.txt " + tokenize + "--shuffle 3"),
                command("data", null, "data inspect @data/data_train_000001.bin"),
                command("tiny.yaml", null, "predict @tiny.yaml --csv @made.csv"),
                command("tiny.yaml", null, "rates @tiny.yaml --to adamw"),
                command("norms.csv", null, "effective @norms.csv --csv @made.csv"),
                command("norms.jsonl", null, "effective @norms.jsonl --csv @made.csv"),
                command("muon twin", null, "compare @muon @twin --tensors"),
                command("muon twin", null, "certify @muon @twin --out @made"),
                command("muon blocks.csv", null, "certify @muon @blocks.csv --out @made"),
                command("muon twin half sweep experiment", null, "runs @"),
                command("tiny.yaml", null, "invariance @tiny.yaml"));
    }

    /** Those that write files. */
    List<Command> writing() {
        return Stream.concat(training().stream(), quick().stream())
                .filter(c -> c.into() != null || c.args().stream().anyMatch(arg -> arg.contains("/" + OUT)))
                .toList();
    }

    /** One of them; seldom one that trains, which takes longer. */
    Command anyWriting(SplittableRandom random) {
        List<Command> all = writing(), slow = training();
        List<Command> among = random.nextInt(8) == 0
                ? all.stream().filter(slow::contains).toList()
                : all.stream().filter(command -> !slow.contains(command)).toList();
        return among.get(random.nextInt(among.size()));
    }

    /** What a command that did not finish has left: files that are not finished, pages that are not whole. */
    Stream<String> left(Command command) throws IOException {
        return result(command).entrySet().stream()
                .filter(file ->
                        file.getKey().endsWith(".part") || file.getValue().equals(false))
                .map(Map.Entry::getKey);
    }

    /** Gives a command again that did not finish; what is then not as it should be. */
    Optional<String> again(Command command) throws IOException {
        int exit = ht.run(command.args());
        if (exit > 1 && !ht.err().contains("already")) { // it is, where the end came after the last file
            return Optional.of("given again: exit " + exit + ", " + ht.err().strip());
        }
        Map<String, Object> result = result(command);
        return result.equals(expected(command))
                ? Optional.empty()
                : Optional.of("another result: " + result + " instead of " + expected(command));
    }

    /** What a command gives undisturbed. */
    Map<String, Object> expected(Command command) throws IOException {
        if (!expected.containsKey(command)) {
            int exit = ht.run(command.args());
            if (exit > 1) {
                throw new AssertionError(command.args() + " ends with " + exit + ": " + ht.err());
            }
            expected.put(command, result(command));
            tidy(command);
            if (!changed().isEmpty()) {
                throw new AssertionError(command.args() + " has changed what it only reads: " + changed());
            }
        }
        return expected.get(command);
    }

    /** The files that a command reads; what is neither read nor compared is left out. */
    List<Path> files(Command command) {
        return command.reads().stream()
                .flatMap(read -> regular(at(read)).stream())
                .filter(file -> !file.toString().matches(".*(/lock|events\\.out.*|report[^/]*\\.html)"))
                .toList();
    }

    static List<Path> regular(Path place) {
        if (!Files.exists(place)) {
            return List.of();
        }
        try (Stream<Path> files = Files.walk(place)) {
            return files.filter(Files::isRegularFile).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Removes what a command has made, and puts back what it has continued. */
    void tidy(Command command) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.filter(f -> f.getFileName().toString().startsWith(OUT))
                    .toList()) {
                Folder.delete(file);
            }
        }
        if (command.into() != null) {
            Folder.delete(at(command.into()));
            copy(kept.resolve(command.into()), at(command.into()));
        }
    }

    /** The files that differ from what they were made as, and those that are new. */
    List<String> changed() throws IOException {
        Map<String, String> now = stamps(directory);
        return Stream.concat(now.keySet().stream(), before.keySet().stream())
                .distinct()
                .filter(name -> !Objects.equals(now.get(name), before.get(name)))
                .toList();
    }

    private static Map<String, String> stamps(Path place) throws IOException {
        Map<String, String> stamps = new TreeMap<>();
        for (Path file : regular(place)) {
            stamps.put(place.relativize(file).toString(), Files.size(file) + "@" + Files.getLastModifiedTime(file));
        }
        return stamps;
    }

    void restore(Path file) throws IOException {
        Path good = kept.resolve(directory.relativize(file));
        Files.copy(good, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.COPY_ATTRIBUTES);
    }

    /**
     * What a command has made or continued, without what is different every time: a map from files to checksums, and of
     * pages only whether they are whole.
     */
    Map<String, Object> result(Command command) throws IOException {
        Map<String, Object> result = new LinkedHashMap<>();
        for (Path file : regular(directory)) {
            String place = directory.relativize(file).toString(),
                    name = file.getFileName().toString();
            boolean own = place.startsWith(OUT) || command.into() != null && place.startsWith(command.into() + "/");
            if (own && !name.matches("lock|tokenize\\.lock|" + Run.PROVENANCE + "|events\\.out.*")) {
                result.put(place, content(name, Files.readAllBytes(file)));
            }
        }
        return result;
    }

    private static Object content(String name, byte[] bytes) {
        if (name.endsWith(".html")) {
            String page = new String(bytes);
            return page.startsWith("<!doctype html>") && page.strip().endsWith("</html>");
        }
        byte[] compared = name.equals(Run.METRICS)
                ? new String(bytes).replaceAll(",\"seconds\":[^,}]*", "").getBytes()
                : bytes;
        CRC32C crc = new CRC32C();
        crc.update(compared);
        return compared.length + " bytes, " + Long.toHexString(crc.getValue());
    }

    static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(from.relativize(file).toString()), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    /** Whether the lines that say how large something is are still the same: others could train for years. */
    static boolean sameSizes(byte[] before, byte[] after) {
        return sizes(before).equals(sizes(after));
    }

    private static List<String> sizes(byte[] bytes) {
        return Arrays.stream(new String(bytes, StandardCharsets.ISO_8859_1).split("\n"))
                .filter(line -> line.matches(
                        ".*(steps|layers|width|head|sequence|batch|vocab|accumulation|preset|every|keep|settings).*"))
                .toList();
    }
}
