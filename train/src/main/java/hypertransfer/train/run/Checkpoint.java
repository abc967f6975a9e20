package hypertransfer.train.run;

import com.fasterxml.jackson.annotation.JsonInclude;
import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Checksum;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.Strict;
import hypertransfer.train.log.Run;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.PropertyNamingStrategies;
import tools.jackson.databind.json.JsonMapper;

/**
 * The numbers of a checkpoint, whose tensors stand in a second file. The numbers are written last and hold the tensors'
 * checksum and their own, so a checkpoint is whole or is not one.
 *
 * @param step the steps taken; the data's position and every random draw follow from it
 * @param states what the algebra remembers of each hidden matrix, every double exact
 * @param validation the validation loss at this step, if there is one
 * @param origin what was trained; null where an older version wrote the checkpoint
 * @param tensors the CRC-32C of the .safetensors file
 * @param checksum the CRC-32C of this record with a checksum of zero
 */
public record Checkpoint(
        int step,
        List<State> states,
        Double validation,
        @JsonInclude(JsonInclude.Include.NON_NULL) Origin origin,
        long tensors,
        long checksum) {
    private static final JsonMapper JSON = JsonMapper.builder()
            .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
            .build();
    static final String NUMBERS = ".json";
    static final String TENSORS = ".safetensors";

    /** Reads a checkpoint's numbers. Damage is refused; a file that cannot be read now may be good, so that is not. */
    public static Checkpoint read(Path numbers) {
        Atomic.requireRegular(numbers);
        byte[] bytes = Atomic.told("read", numbers, () -> Files.readAllBytes(numbers));
        try {
            Checkpoint c = JSON.readValue(bytes, Checkpoint.class);
            if (c == null
                    || c.states == null
                    || c.states.stream().anyMatch(state -> state == null || state.matrix() == null)
                    || c.checksum != c.sum()
                    || !Arrays.equals(bytes, c.text())) {
                throw new Refusal(numbers + " is damaged: its text is not that of its checksum");
            }
            if (c.step != Run.step(numbers)) {
                throw new Refusal(numbers + " is of step " + c.step + ", not of its name's");
            }
            return c;
        } catch (JacksonException e) {
            throw new Refusal(
                    numbers + " is damaged: "
                            + Strict.reason(e).lines().findFirst().orElse("unreadable"),
                    e);
        }
    }

    /** Whether a checkpoint is whole, its tensors too. */
    public static boolean good(Path numbers) {
        try {
            read(numbers).open(numbers).close();
            return true;
        } catch (Refusal damaged) {
            return false;
        }
    }

    void write(Path numbers) {
        Atomic.write(numbers, new String(with(tensors, sum()).text(), StandardCharsets.UTF_8));
    }

    /** The tensors, checked against their checksum. */
    SafeTensors open(Path numbers) {
        SafeTensors file = SafeTensors.read(tensorsOf(numbers));
        if (file.checksum() != tensors) {
            file.close();
            throw new Refusal(tensorsOf(numbers) + " is damaged: its checksum is not the one in " + numbers);
        }
        return file;
    }

    public static Path tensorsOf(Path numbers) {
        return numbers.resolveSibling(numbers.getFileName().toString().replace(NUMBERS, TENSORS));
    }

    State state(String matrix) {
        return states.stream()
                .filter(state -> state.matrix().equals(matrix))
                .findFirst()
                .orElseThrow(() -> new Refusal("the checkpoint of step " + step + " has no state of " + matrix));
    }

    private byte[] text() {
        return JSON.writeValueAsBytes(this);
    }

    private long sum() {
        return Checksum.of(with(tensors, 0).text());
    }

    Checkpoint with(long tensors, long checksum) {
        return new Checkpoint(step, states, validation, origin, tensors, checksum);
    }
}
