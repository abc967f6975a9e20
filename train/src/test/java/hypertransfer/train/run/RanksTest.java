package hypertransfer.train.run;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;

import hypertransfer.core.Mode;
import hypertransfer.engine.Role;
import hypertransfer.engine.ranks.Alone;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Line;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Outline;
import hypertransfer.train.network.Parameters;
import hypertransfer.train.optimizer.Directions;
import hypertransfer.train.ranks.Threads;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** What is computed does not depend on the number of ranks: these are threads, which need no MPI. */
class RanksTest {
    @TempDir
    private Path directory;

    /** Losses, norms and rates of a few steps, the validation loss, and the bytes of a checkpoint. */
    private List<Object> trained(Configuration c, int size) throws Exception {
        Run run = new Run(directory.resolve("on " + size));
        List<Object> result = new ArrayList<>();
        Threads.Body body = ranks -> {
            try (Feed feed = Feed.open(c);
                    Session session = Session.bare(c, Map.of(), ranks).initialize(c)) {
                for (int step = 0; step < 3; step++) {
                    session.gradient(feed, step, () -> false);
                    Object taken = List.of(
                            Arrays.toString(session.optimizer().radial()),
                            session.optimizer().step(0.02, 0.01),
                            session.optimizer().clipped(),
                            session.network().meanLoss());
                    if (ranks.rank() == ranks.size() - 1) {
                        result.add(taken);
                    }
                }
                Line.Validation validation =
                        session.validate(feed, 3, () -> false).orElseThrow();
                session.requireFinite(3);
                Snapshot.Saving saving = new Snapshot(session).begin(run, 3, validation.loss(), null);
                if (ranks.rank() == 0) {
                    Path numbers = saving.finish();
                    result.add(validation);
                    result.add(Files.readString(numbers));
                    result.add(ByteBuffer.wrap(Files.readAllBytes(Checkpoint.tensorsOf(numbers))));
                }
            }
        };
        if (size == 1) {
            body.run(new Alone());
        } else {
            Threads.run(size, body);
        }
        return result;
    }

    private void sameOn(Configuration c, int... sizes) throws Exception {
        List<Object> one = trained(c, 1);
        assertThat(one).hasSize(6);
        for (int size : sizes) {
            assertThat(trained(c, size))
                    .as("%s on %d ranks", c.matrices().direction(), size)
                    .isEqualTo(one);
        }
    }

    @ParameterizedTest
    @CsvSource({
        "reference, M1, muon, hyperball, 24",
        "reference, M2, adam, hypertransfer-plus, 4",
        "cpu, M2, muon, hypertransfer-plus, 12",
        "cpu, M1, muon, hypertransfer, 4",
        "cpu, M2, adam, inverse-hypertransfer-plus, 4",
        "cpu, M1, normuon, base, 6",
        "cpu, M1, soap, hypertransfer, 4",
    })
    void bitsDoNotDependOnTheNumberOfRanks(
            String engine, String network, String direction, String mode, int accumulation) throws Exception {
        Configuration c = new Tiny(directory)
                .configuration(
                        "engine=" + engine,
                        "network=" + network,
                        "matrices.direction=" + direction,
                        "matrices.mode=" + mode,
                        "model.layers=2",
                        "model.vocab=37", // which no number of ranks divides
                        "model.accumulation=" + accumulation,
                        direction.equals("normuon") ? "clip.norm=0.05" : "clip.norm=0",
                        mode.equals("hyperball") ? "clip.value=0.001" : "clip.value=0",
                        accumulation == 12 ? "matrices.view=heads" : "matrices.view=whole",
                        "validation.batches=5");
        sameOn(
                c,
                IntStream.of(2, 3, 4, 8)
                        .filter(size -> accumulation % size == 0)
                        .toArray());
    }

    /** Every mode with two directions and every direction with two modes; with -Dht.slow=true all with all. */
    @ParameterizedTest
    @EnumSource(Mode.class)
    void norDoTheyInAnyModeAndDirection(Mode mode) throws Exception {
        Directions[] all = Directions.values();
        for (int k = 0; k < (Boolean.getBoolean("ht.slow") ? all.length : 2); k++) {
            Directions direction = all[(mode.ordinal() + k) % all.length];
            Configuration c = new Tiny(directory)
                    .configuration(
                            "matrices.mode=" + mode.label(),
                            "matrices.direction=" + direction.label(),
                            "matrices.master=float64",
                            "matrices.target_decay=0.2",
                            "model.accumulation=4");
            sameOn(c, 2, 4);
        }
    }

    @Test
    void norDoTheyInOtherNetworks() throws Exception {
        Configuration c = new Tiny(directory)
                .configuration(
                        "matrices.mode=hypertransfer",
                        "model.tied=true",
                        "model.norm=layer",
                        "model.mlp=swiglu",
                        "model.kv_heads=1",
                        "model.accumulation=4");
        sameOn(c, 2, 4);
    }

    @Test
    void masterAndStateAreAtTheOwnerOnly() throws Exception {
        Configuration c = new Tiny(directory)
                .configuration("engine=cpu", "model.accumulation=4", "model.layers=4", "model.vocab=512");
        long[] total = new long[4], messages = new long[4];
        Threads.run(4, ranks -> {
            try (Session session = Session.bare(c, Map.of(), ranks).initialize(c)) {
                total[ranks.rank()] = session.memory().bytes().get(Role.STATE);
                messages[ranks.rank()] = session.memory().messages();
                assertThat(session.memory().table()).contains("messages ");
            }
        });
        try (Session whole = Session.open(c)) {
            long all = whole.memory().bytes().get(Role.STATE);
            for (long state : total) {
                assertThat((double) state / all).isBetween(0.2, 0.3);
            }
            assertThat(whole.memory().messages()).isZero();
            assertThat(whole.memory().table()).doesNotContain("messages");
            long weights = c.architecture().parameters() * Float.BYTES;
            for (long travelling : messages) { // gradients for three others and from them, and all weights
                assertThat((double) travelling / weights).isBetween(2.2, 2.8);
            }
        }
    }

    /** What is sent is complete, and what is not sent yet may still be computed. */
    @Test
    void gradientsAreReadyBlockByBlock() {
        Configuration c = new Tiny(directory).configuration("model.layers=3");
        try (Feed feed = Feed.open(c);
                Session session = Session.open(c)) {
            Feed.Batch batch = feed.training(0, 0);
            Parameters parameters = session.parameters();
            session.network().gradient(batch.inputs(), batch.targets(), 0, null);
            Map<String, double[]> whole = gradients(session);
            session.engine().zero(parameters.gradients());
            List<Integer> parts = new ArrayList<>();
            session.network().gradient(batch.inputs(), batch.targets(), 0, part -> {
                parts.add(part);
                Map<String, double[]> now = gradients(session);
                for (Outline outline : parameters.share.outlines()) {
                    int completed = parameters.completed(outline);
                    if (completed >= part) {
                        assertThat(now.get(outline.name())).isEqualTo(whole.get(outline.name()));
                    } else if (completed >= 0) {
                        assertThat(now.get(outline.name())).containsOnly(0);
                    }
                }
            });
            assertThat(parts).containsExactly(3, 2, 1, 0);
            gradients(session).forEach((name, values) -> assertThat(values).isEqualTo(whole.get(name)));
        }
    }

    private static Map<String, double[]> gradients(Session session) {
        Map<String, double[]> values = new HashMap<>();
        session.parameters()
                .all()
                .forEach(p -> values.put(p.name(), session.engine().read(p.gradient())));
        return values;
    }

    @Test
    void ranksThatCannotShareMicroBatchesAreRefused() {
        Configuration c = new Tiny(directory).configuration("model.accumulation=6");
        assertRefused(() ->
                        Threads.run(4, ranks -> Session.bare(c, Map.of(), ranks).initialize(c)))
                .hasMessage("a step has 6 micro-batches (model.accumulation), which 4 ranks cannot share evenly;"
                        + " start 1, 2, 3, 6 ranks, or set model.accumulation to a multiple of 4");
    }
}
