package hypertransfer.train.data;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import hypertransfer.train.data.text.Vocabulary;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ShardTest {
    @TempDir
    private Path directory;

    private Path file() {
        return directory.resolve("x.bin");
    }

    private void refused(Path file, int vocabulary, String... parts) {
        assertRefused(
                        () -> {
                            try (Shard shard = Shard.open(file, vocabulary)) {
                                shard.first(Integer.MAX_VALUE - 8);
                            }
                        },
                        parts)
                .hasMessageContaining(file.toString());
    }

    @Test
    void readsAShardOfAnotherTool() {
        try (Shard shard = Shard.open(ShardFile.shakespeare(), 50257)) {
            assertThat(shard.count()).isEqualTo(32768);
            assertThat(shard.first(5)).containsExactly(50256, 5962, 22307, 25, 198);
            assertThat(Vocabulary.GPT2.decode(shard.first(12))).startsWith("<|endoftext|>First Citizen:\n");
            assertThat(Arrays.stream(shard.histogram()).sum()).isEqualTo(32768);
        }
    }

    @Test
    void readsAnyPlace() {
        try (Shard shard = Shard.open(ShardFile.write(file(), 7, 65535, 0, 50256), Shard.ANY_VOCABULARY)) {
            int[] into = new int[4];
            shard.read(1, into, 2, 2);
            assertThat(into).containsExactly(0, 0, 65535, 0);
            assertThat(shard.histogram()[65535]).isEqualTo(1);
            assertThat(shard.first(9)).containsExactly(7, 65535, 0, 50256);
        }
    }

    @Test
    void refusesWhatIsNoShard() {
        refused(directory.resolve("none.bin"), 256, "there is no shard", "ht data tokenize");
        refused(
                Path.of("none.bin"),
                256,
                "there is no shard none.bin in " + Path.of("").toAbsolutePath() + "; name where");
        refused(ShardFile.write(file(), new byte[1023]), 256, "1023 bytes", "1024");
        refused(ShardFile.write(file(), new byte[0]), 256, "0 bytes");
        refused(ShardFile.write(file(), ShardFile.bytes(20240521, 1, 1, 5)), 256, "20240521", "byte 0", "20240520");
        refused(ShardFile.write(file(), ShardFile.bytes(20240520, 2, 1, 5)), 256, "version 2", "byte 4");
        refused(directory, 256, "cannot read");
    }

    @Test
    void refusesASizeThatIsNotTheAnnouncedOne() {
        byte[] whole = ShardFile.bytes(20240520, 1, 3, 1, 2, 3);
        refused(ShardFile.write(file(), Arrays.copyOf(whole, 1029)), 256, "3 tokens", "1030 bytes", "1029", "cut off");
        refused(ShardFile.write(file(), Arrays.copyOf(whole, 1024)), 256, "3 tokens", "1024", "cut off");
        refused(ShardFile.write(file(), Arrays.copyOf(whole, 1032)), 256, "3 tokens", "1032", "damaged");
        refused(ShardFile.write(file(), ShardFile.bytes(20240520, 1, -1, 1, 2)), 256, "4294967295 tokens", "cut off");
    }

    @Test
    void namesTheFirstTokenBeyondTheVocabulary() {
        int[] ids = new int[300_000]; // several chunks of the scan
        ids[299_999] = 65535;
        ids[200_001] = 256;
        ids[100] = 255;
        Path file = ShardFile.write(file(), ids);
        refused(file, 256, "token 200001 (byte 401026) is 256", "vocabulary of 256");
        refused(file, 257, "token 299999 (byte 601022) is 65535");
        refused(file, 255, "token 100 (byte 1224) is 255");
        Shard.open(file, 65536).close();
    }

    @Test
    void isGoneAfterClosing() {
        Shard shard = Shard.open(ShardFile.write(file(), 1, 2, 3), 256);
        shard.close();
        assertThatThrownBy(() -> shard.first(1)).isInstanceOf(IllegalStateException.class);
    }

    /** It was an InternalError, "this is a bug". */
    @Test
    void aFileCutShortWhileItIsReadIsToldInASentence() throws IOException {
        Path file = ShardFile.write(file(), new int[100_000]);
        try (Shard shard = Shard.open(file, 256)) {
            try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                channel.truncate(5000);
            }
            assertRefused(() -> shard.read(90_000, new int[100], 0, 100), file + " was cut short");
        }
    }
}
