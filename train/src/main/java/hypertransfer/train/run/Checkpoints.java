package hypertransfer.train.run;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.log.Run;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.stream.Stream;

/** The checkpoints of a run. */
public record Checkpoints(Run run) {
    Path numbers(int step) {
        return directory().resolve(String.format(Locale.ROOT, "step-%08d", step) + Checkpoint.NUMBERS);
    }

    private Path directory() {
        return run.file(Run.CHECKPOINTS);
    }

    void create() {
        Atomic.told("make", directory(), () -> Files.createDirectories(directory()));
    }

    /** Uses the newest good checkpoint; one that is damaged is passed over with its reason. */
    <T> T newest(Consumer<String> passedOver, BiFunction<Checkpoint, SafeTensors, T> use) {
        List<Path> all = run.checkpoints();
        for (Path numbers : all) {
            Checkpoint checkpoint;
            SafeTensors tensors;
            try {
                checkpoint = Checkpoint.read(numbers);
                tensors = checkpoint.open(numbers);
            } catch (Refusal damaged) {
                passedOver.accept(damaged.getMessage());
                continue;
            }
            try (tensors) {
                return use.apply(checkpoint, tensors);
            }
        }
        throw new Refusal("there is no good checkpoint among the " + all.size() + " in " + directory()
                + "; start the run again with another --out");
    }

    <T> T at(int step, BiFunction<Checkpoint, SafeTensors, T> use) {
        List<Path> all = run.checkpoints();
        if (!all.contains(numbers(step))) {
            String there = all.isEmpty()
                    ? "none"
                    : "those of " + all.stream().map(Run::step).toList();
            throw new Refusal(run.directory() + " has no checkpoint of step " + step + "; it has " + there
                    + ". Train it again with checkpoint.every and checkpoint.keep set to save and keep that step");
        }
        Checkpoint checkpoint = Checkpoint.read(numbers(step));
        try (SafeTensors tensors = checkpoint.open(numbers(step))) {
            return use.apply(checkpoint, tensors);
        }
    }

    /** What the newest checkpoint that can be read was trained with, if it says so. */
    Optional<Origin> origin() {
        for (Path numbers : run.checkpoints()) {
            try {
                return Optional.ofNullable(Checkpoint.read(numbers).origin());
            } catch (Refusal | UncheckedIOException damaged) {
                // the one before may be good
            }
        }
        return Optional.empty();
    }

    /**
     * After a save: deletes all but the newest few, the best by validation loss, and what is beyond the newest, which
     * was passed over as damaged. What cannot be read now may be the best, so it stays.
     */
    void prune(int newest, int keep) {
        List<Path> all = run.checkpoints().stream()
                .filter(numbers -> Run.step(numbers) <= newest)
                .toList();
        List<Path> kept = new ArrayList<>(all.subList(0, Math.min(keep, all.size())));
        Path best = null;
        double lowest = Double.POSITIVE_INFINITY;
        for (Path numbers : all) {
            try {
                Double validation = Checkpoint.read(numbers).validation();
                if (validation != null && validation < lowest) {
                    lowest = validation;
                    best = numbers;
                }
            } catch (Refusal damaged) {
                // is not the best
            } catch (UncheckedIOException e) {
                kept.add(numbers);
            }
        }
        if (best != null) {
            kept.add(best);
        }
        kept.addAll(kept.stream().map(Checkpoint::tensorsOf).toList());
        delete(kept);
    }

    /** Deletes all checkpoints, and their folder unless something else lies there. */
    public void delete() {
        delete(List.of());
        directory().toFile().delete(); // which leaves a folder that is not empty
    }

    private void delete(List<Path> kept) {
        try (Stream<Path> files = Files.list(directory())) {
            // the numbers first: tensors without numbers are no checkpoint, and are found here after a kill
            for (Path file : files.sorted(Comparator.naturalOrder()).toList()) {
                if (!kept.contains(file) && file.getFileName().toString().matches("step-\\d{8,10}\\..*")) {
                    Files.delete(file);
                }
            }
        } catch (IOException e) {
            throw Atomic.failed("tidy", directory(), e);
        }
    }
}
