package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.engine.Tensor;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.SafeTensorsWriter;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Outline;
import hypertransfer.train.ranks.Team;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;

/**
 * A moment of a run: two files, the tensors and the numbers. The numbers are written last and name the tensors'
 * checksum and their own, so a checkpoint is whole or is not one.
 *
 * @param step the steps taken; the data's position and every random draw follow from it
 * @param states what the algebra remembers of each hidden matrix, every double exact
 * @param validation the validation loss at this step, if there is one
 * @param tensors the CRC-32C of the .safetensors file
 * @param checksum the CRC-32C of this record with a checksum of zero
 */
public record Checkpoint(int step, List<State> states, Double validation, long tensors, long checksum) {
    private static final JsonMapper JSON = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .build();
    private static final String NUMBERS = ".json";
    private static final String TENSORS = ".safetensors";

    /** Writes a checkpoint of the trainee as it stands. */
    static Path save(Run run, int step, Double validation, Trainee trainee) {
        Path directory = run.file(Run.CHECKPOINTS);
        try {
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot make " + directory + ": " + e.getMessage(), e);
        }
        String name = name(step);
        Path numbers = directory.resolve(name + NUMBERS);
        List<SafeTensorsWriter.Entry> entries = contents(trainee).entrySet().stream()
                .map(entry -> entry.getValue().entry(entry.getKey(), trainee.team()))
                .toList();
        if (trainee.team().rank() > 0) {
            entries.forEach(entry -> entry.values().get()); // to rank 0, which writes
            return numbers;
        }
        long crc = SafeTensorsWriter.write(directory.resolve(name + TENSORS), entries, Map.of());
        Checkpoint unsigned = new Checkpoint(step, trainee.optimizer().states(), validation, crc, 0);
        Atomic.write(numbers, JSON.writeValueAsString(unsigned.signed(unsigned.sum())));
        return numbers;
    }

    /**
     * A tensor of the file.
     *
     * @param parameter the number of the parameter that it has the shape of
     * @param numberBytes the bytes of one number, at whichever rank
     * @param own what this rank has of it, or null
     */
    private record Content(int parameter, Outline whole, int numberBytes, Tensor own) {
        SafeTensorsWriter.Entry entry(String name, Team team) {
            return new SafeTensorsWriter.Entry(
                    name, whole.rows(), whole.cols(), numberBytes, () -> team.whole(own));
        }
    }

    /** All tensors that a run continues from, by their names in the file. */
    private static Map<String, Content> contents(Trainee trainee) {
        Map<String, Content> contents = new LinkedHashMap<>();
        List<Outline> all = trainee.team().share().outlines();
        Map<String, Tensor> masters = new HashMap<>();
        Map<Boolean, Integer> bytes = new HashMap<>(); // of hidden masters and of all others; a rank owns some of both
        trainee.parameters().own().forEach(p -> {
            masters.put(p.name(), p.master());
            bytes.put(p.hidden(), p.master().numberBytes());
        });
        for (int p = 0; p < all.size(); p++) {
            Outline whole = all.get(p);
            contents.put(whole.name(), new Content(p, whole, bytes.get(whole.hidden()), masters.get(whole.name())));
        }
        Map<String, Tensor> memory = trainee.optimizer().tensors();
        int state = memory.values().iterator().next().numberBytes(); // Adam's of the rest is always there
        trainee.optimizer()
                .memories()
                .forEach((name, p) -> contents.put(name, new Content(p, all.get(p), state, memory.get(name))));
        return contents;
    }

    /** Loads the newest good checkpoint; one that is not good is passed over with its reason. */
    static Checkpoint loadNewest(Run run, Trainee trainee, Consumer<String> passedOver) {
        return newest(run, numbers -> load(numbers, trainee), passedOver);
    }

    /** What can be made of the newest checkpoint that it can be made of. */
    static <T> T newest(Run run, Function<Path, T> load, Consumer<String> passedOver) {
        List<Path> all = run.checkpoints();
        for (Path numbers : all) {
            try {
                return load.apply(numbers);
            } catch (Refusal e) {
                passedOver.accept(e.getMessage());
            }
        }
        throw new Refusal("there is no good checkpoint among the " + all.size() + " in " + run.file(Run.CHECKPOINTS)
                + "; start the run again with another --out");
    }

    /** Reads a checkpoint's numbers, checked against their own checksum. */
    public static Checkpoint read(Path numbers) {
        try {
            String text = Files.readString(numbers, StandardCharsets.UTF_8);
            Checkpoint c = JSON.readValue(text, Checkpoint.class);
            if (c == null || c.checksum != c.sum() || !text.equals(JSON.writeValueAsString(c))) {
                throw new Refusal(numbers + " is damaged: its text is not that of its checksum");
            }
            return c;
        } catch (JacksonException | IOException e) {
            throw new Refusal(
                    numbers + " is damaged: "
                            + e.getMessage().lines().findFirst().orElse("unreadable"),
                    e);
        }
    }

    /** Loads a checkpoint into the trainee, once all of it is known to be good. */
    static Checkpoint load(Path numbers, Trainee trainee) {
        Checkpoint c = read(numbers);
        Map<String, Content> contents = contents(trainee);
        try (SafeTensors file = open(numbers, c)) {
            for (Map.Entry<String, Content> entry : contents.entrySet()) {
                Outline t = entry.getValue().whole();
                int[] shape = t.rows() == 1 ? new int[] {t.cols()} : new int[] {t.rows(), t.cols()};
                if (!Arrays.equals(shape, file.shape(entry.getKey()))) {
                    throw new Refusal(numbers + " is of another network: its " + entry.getKey() + " is "
                            + Arrays.toString(file.shape(entry.getKey())) + ", not " + Arrays.toString(shape));
                }
            }
            contents.forEach((name, content) ->
                    trainee.team().write(content.parameter(), () -> file.values(name), content.own()));
        }
        trainee.optimizer().restore(c.states, c.step);
        return c;
    }

    /**
     * Loads another run's checkpoint and goes on from it in a space of one's own: the carrier's radius is the norm it has
     * there, the target keeps the norm it has there. A plain optimizer has one matrix, so it takes the target's.
     *
     * @return the steps taken
     */
    static int change(Run run, int step, Trainee trainee) {
        Path numbers = run.file(Run.CHECKPOINTS).resolve(name(step) + NUMBERS);
        List<Path> all = run.checkpoints();
        if (!all.contains(numbers)) {
            throw new Refusal(run.directory() + " has no checkpoint of step " + step + "; it has those of "
                    + all.stream().map(Run::step).toList()
                    + ". Train it again with checkpoint.every and checkpoint.keep set to save and keep that step");
        }
        Checkpoint c = load(numbers, trainee);
        List<State> changed = new ArrayList<>();
        for (State s : c.states) {
            boolean plain = trainee.plain(s.matrix());
            if (plain && s.norm() != s.targetNorm()) {
                trainee.scale(s.matrix(), s.targetNorm() / s.norm());
            }
            double norm = plain ? s.targetNorm() : s.norm();
            changed.add(new State(s.matrix(), s.step(), norm, norm, s.targetNorm()));
        }
        trainee.optimizer().restore(changed, step);
        return step;
    }

    /** What the algebra remembers of one matrix. */
    State state(String matrix) {
        return states.stream()
                .filter(state -> state.matrix().equals(matrix))
                .findFirst()
                .orElseThrow(() -> new Refusal("the checkpoint of step " + step + " has no state of " + matrix));
    }

    private static String name(int step) {
        return String.format(Locale.ROOT, "step-%08d", step);
    }

    /** The tensors of a checkpoint, checked against their checksum. */
    static SafeTensors open(Path numbers, Checkpoint c) {
        SafeTensors file = SafeTensors.read(tensorsOf(numbers));
        if (file.checksum() != c.tensors) {
            file.close();
            throw new Refusal(tensorsOf(numbers) + " is damaged: its checksum is not the one in " + numbers);
        }
        return file;
    }

    /**
     * After a save: deletes all but the newest few, the best by validation loss, and what is beyond the newest, which
     * was passed over as damaged.
     */
    static void prune(Run run, int newest, int keep) {
        Path directory = run.file(Run.CHECKPOINTS);
        List<Path> all = run.checkpoints().stream()
                .filter(numbers -> Run.step(numbers) <= newest)
                .toList();
        List<Path> kept = new ArrayList<>(all.subList(0, Math.min(keep, all.size())));
        all.stream()
                .filter(numbers -> validation(numbers) < Double.POSITIVE_INFINITY)
                .min(Comparator.comparingDouble(Checkpoint::validation))
                .ifPresent(kept::add);
        kept.addAll(kept.stream().map(Checkpoint::tensorsOf).toList());
        try (Stream<Path> files = Files.list(directory)) {
            // the numbers first: tensors without numbers are no checkpoint, and are found here after a kill
            for (Path file : files.sorted().toList()) {
                if (!kept.contains(file) && file.getFileName().toString().matches("step-\\d{8,10}\\..*")) {
                    Files.delete(file);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot tidy " + directory + ": " + e.getMessage(), e);
        }
    }

    /** Infinite where there is none, or it cannot be known. */
    private static double validation(Path numbers) {
        try {
            Double validation = read(numbers).validation;
            return validation == null ? Double.POSITIVE_INFINITY : validation;
        } catch (Refusal e) {
            return Double.POSITIVE_INFINITY;
        }
    }

    static Path tensorsOf(Path numbers) {
        return numbers.resolveSibling(numbers.getFileName().toString().replace(NUMBERS, TENSORS));
    }

    private long sum() {
        CRC32C crc = new CRC32C();
        crc.update(JSON.writeValueAsString(signed(0)).getBytes(StandardCharsets.UTF_8));
        return crc.getValue();
    }

    private Checkpoint signed(long checksum) {
        return new Checkpoint(step, states, validation, tensors, checksum);
    }
}
