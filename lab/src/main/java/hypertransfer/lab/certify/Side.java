package hypertransfer.lab.certify;

import hypertransfer.core.Refusal;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.RecordedRates;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * One of the two that are compared.
 *
 * @param letter A or B, as sentences name it
 * @param run null where there is a configuration only
 */
record Side(String letter, String place, Configuration configuration, Run run) {
    static Side read(String letter, Path place) {
        Run run = Files.isDirectory(place) ? new Run(place) : null;
        return new Side(letter, place.toString(), Experiment.at(place, List.of()), run);
    }

    /** Whether a file is a log made elsewhere. */
    static boolean log(Path place) {
        return place.toString().matches(".*\\.(csv|tsv|jsonl)(\\.gz)?") && !Files.isDirectory(place);
    }

    /** The series of the other side's log that this one takes for its schedule; null where it does not. */
    String takes(Side other) {
        String file = configuration.matrices().recorded();
        if (file == null || other.run == null) {
            return null;
        }
        RecordedRates own = RecordedRates.read(Path.of(file));
        try {
            RecordedRates its = RecordedRates.of(other.run, own.series(), told -> {});
            boolean same = its.logged() == its.steps() // interpolated rates are others
                    && own.steps() == configuration.steps()
                    && its.rates().equals(own.rates())
                    && (own.decays() == null || own.decays().equals(its.decays()));
            return same ? own.series() : null;
        } catch (Refusal e) { // not finished, or without such a series
            return null;
        }
    }

    /** Whether this one begins at a checkpoint of the other, which has begun at its own start. */
    boolean continues(Side other) {
        String from = configuration.from().run();
        if (from == null
                || run == null
                || other.run == null
                || other.configuration.from().run() != null) {
            return false;
        }
        Path its = other.run.directory();
        return run.named(from)
                .filter(before -> Atomic.told("read", its, () -> Files.isSameFile(before.directory(), its)))
                .isPresent();
    }
}
