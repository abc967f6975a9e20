package hypertransfer.engine.cuda.driver;

import static hypertransfer.engine.Refused.refused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PlansTest {
    private static final String PRODUCT = "tn-3x4x5-BF16>FLOAT32-1:0:0:0-a256";

    @TempDir
    private Path folder;

    private Plans plans() {
        return new Plans(new Cache(folder), "NVIDIA H200", 130000);
    }

    /** With the run's own file. */
    private static Plans in(Path file, Plans plans) {
        plans.own(file);
        return plans;
    }

    private static byte[] algorithm(int first) {
        byte[] algorithm = new byte[64];
        algorithm[0] = (byte) first;
        return algorithm;
    }

    @Test
    void aChoiceIsFoundAgainForTheSameCardAndRelease() {
        assertThat(plans().lasting()).isTrue();
        assertThat(plans().keep(PRODUCT, algorithm(-3), null)).isEqualTo(algorithm(-3));
        assertThat(plans().find(PRODUCT)).hasValue(algorithm(-3));
        assertThat(new Plans(new Cache(folder), "NVIDIA H200", 130100).find(PRODUCT))
                .isEmpty();
        assertThat(new Plans(new Cache(folder), "NVIDIA A100", 130000).find(PRODUCT))
                .isEmpty();
    }

    @Test
    void theFirstChoiceStandsUntilItIsRefused() {
        Plans first = plans(), second = plans();
        first.keep(PRODUCT, algorithm(1), null);
        assertThat(second.keep(PRODUCT, algorithm(2), null)).isEqualTo(algorithm(1));
        assertThat(second.find(PRODUCT)).hasValue(algorithm(1));
        assertThat(second.keep(PRODUCT, algorithm(2), algorithm(1))).isEqualTo(algorithm(2));
        assertThat(plans().find(PRODUCT)).hasValue(algorithm(2));
    }

    @Test
    void manyWritersLoseNothing() {
        CountDownLatch start = new CountDownLatch(1);
        try (ExecutorService writers = Executors.newFixedThreadPool(8)) {
            for (int i = 0; i < 8; i++) {
                int writer = i;
                writers.submit(() -> {
                    Plans plans = plans();
                    start.await();
                    for (int k = 0; k < 8; k++) {
                        plans.keep("product-" + writer + "-" + k, algorithm(writer), null);
                    }
                    return null;
                });
            }
            start.countDown();
        } // which waits for all
        for (int i = 0; i < 64; i++) {
            assertThat(plans().find("product-" + i / 8 + "-" + i % 8)).isPresent();
        }
    }

    @Test
    void aRunsOwnFileComesFirstAndBelongsToTheCard() {
        Path file = folder.resolve("decisions.txt");
        in(file, plans()).use(PRODUCT, algorithm(1), null);
        plans().keep(PRODUCT, algorithm(2), null);
        assertThat(in(file, plans()).find(PRODUCT)).hasValue(algorithm(1));
        assertThat(plans().find(PRODUCT)).hasValue(algorithm(2));
        Plans elsewhere = in(file, new Plans(new Cache(folder), "NVIDIA A100", 130000));
        assertThat(elsewhere.find(PRODUCT)).isEmpty();
        elsewhere.use(PRODUCT, algorithm(3), null);
        assertThat(in(file, plans()).find(PRODUCT)).hasValue(algorithm(1));
    }

    @Test
    void theProcessesOfOneRunUseOneAlgorithm() {
        Path file = folder.resolve("decisions.txt");
        Plans first = in(file, plans()), second = in(file, plans());
        assertThat(first.use(PRODUCT, algorithm(1), null)).isEqualTo(algorithm(1));
        assertThat(second.use(PRODUCT, algorithm(2), null)).isEqualTo(algorithm(1));
        assertThat(second.use("another", algorithm(2), null)).isEqualTo(algorithm(2));
        assertThat(first.use(PRODUCT, algorithm(3), algorithm(1))).as("refused").isEqualTo(algorithm(3));
    }

    @Test
    void aRunThatCannotNoteItsAlgorithmsSaysSo() throws IOException {
        Path nowhere = Files.createFile(folder.resolve("nowhere"));
        Plans plans = in(nowhere.resolve("decisions.txt"), plans());
        refused(() -> plans.use(PRODUCT, algorithm(1), null), "nowhere", "resume");
    }

    @Test
    void aFileThatIsNotOursIsNoChoice() throws IOException {
        Files.writeString(folder.resolve("algorithms-card-1.txt"), "what is this\n" + PRODUCT + " 00\n");
        assertThat(new Plans(new Cache(folder), "card", 1).find(PRODUCT)).isEmpty();
    }

    /** A digit that changed is still a digit: the algorithm was followed, and the last bits were others. */
    @Test
    void ofADamagedLineNothingIsFollowed() throws IOException {
        Path shared = folder.resolve("algorithms-NVIDIA_H200-130000.txt"), own = folder.resolve("decisions.txt");
        plans().keep(PRODUCT, algorithm(5), null);
        in(own, plans()).use(PRODUCT, algorithm(5), null);
        for (Path file : List.of(shared, own)) {
            byte[] good = Files.readAllBytes(file);
            for (int at = 0; at < good.length - 1; at++) { // all but the end of the line
                byte[] damaged = good.clone();
                damaged[at] = (byte) (damaged[at] == '7' ? '8' : '7');
                Files.write(file, damaged);
                if (file == shared) {
                    assertThat(plans().find(PRODUCT)).as("byte %d", at).isEmpty();
                } else {
                    refused(() -> in(own, plans()), "decisions.txt", "is damaged at", "put a copy back");
                }
                Files.write(file, Arrays.copyOf(good, at)); // cut short
                if (file == shared) {
                    plans().find(PRODUCT).ifPresent(found -> assertThat(found).isEqualTo(algorithm(5)));
                } else if (at > 0 && at != good.length - 10) { // there the checksum is missing whole, as in older files
                    refused(() -> in(own, plans()), "decisions.txt", "is damaged at");
                }
            }
            Files.write(file, good);
        }
        assertThat(in(own, plans()).find(PRODUCT)).hasValue(algorithm(5));
    }

    @Test
    void aRunOfTheVersionBeforeKeepsItsAlgorithms() throws IOException {
        Path own = folder.resolve("decisions.txt");
        String old = "NVIDIA_H200-130000 " + PRODUCT + " " + HexFormat.of().formatHex(algorithm(9)) + "\n";
        Files.writeString(own, old);
        assertThat(in(own, plans()).find(PRODUCT)).hasValue(algorithm(9));
    }

    @Test
    void aRunsOwnFileThatCannotBeReadIsTold() throws Exception {
        Path own = folder.resolve("decisions.txt");
        Files.write(own, new byte[] {(byte) 0xff, (byte) 0xfe, 0});
        refused(() -> in(own, plans()), "cannot read", "decisions.txt", "which holds the algorithms");
        Files.delete(own);
        Files.createDirectory(own);
        refused(() -> in(own, plans()), "cannot read", "decisions.txt");
        Files.delete(own);
        assumeTrue(new ProcessBuilder("mkfifo", own.toString()).start().waitFor() == 0);
        refused(() -> in(own, plans()), "cannot read", "decisions.txt");
    }

    /** Whatever stands in the user's cache: nothing is taken from it, and where it can be, it is replaced. */
    @Test
    void aDamagedCacheIsNoChoice() throws Exception {
        Path shared = folder.resolve("algorithms-NVIDIA_H200-130000.txt");
        byte[] noise = new byte[5000];
        new Random(3).nextBytes(noise);
        for (byte[] content : List.of(new byte[0], noise, "\n\n \n".getBytes(), (PRODUCT + " ").getBytes())) {
            Files.write(shared, content);
            assertThat(plans().find(PRODUCT)).isEmpty();
            assertThat(plans().keep(PRODUCT, algorithm(4), null)).isEqualTo(algorithm(4));
            assertThat(plans().find(PRODUCT)).hasValue(algorithm(4));
        }
        Files.delete(shared);
        Files.createDirectory(shared);
        Files.createFile(shared.resolve("something"));
        assertThat(plans().find(PRODUCT)).isEmpty();
        assertThat(plans().lasting()).isFalse();
    }

    @Test
    void theCacheIsTheUsers() {
        assertThat(Cache.of(Map.of("HOME", "/home/ada")).folder())
                .isEqualTo(Path.of("/home/ada/.cache/hypertransfer/cuda"));
        assertThat(Cache.of(Map.of("HOME", "/home/ada", "XDG_CACHE_HOME", "/fast"))
                        .folder())
                .isEqualTo(Path.of("/fast/hypertransfer/cuda"));
    }
}
