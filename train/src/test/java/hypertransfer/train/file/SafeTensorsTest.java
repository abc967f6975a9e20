package hypertransfer.train.file;

import static hypertransfer.train.Refusals.assertRefused;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.IntStream;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SafeTensorsTest {
    @TempDir
    Path dir;

    private static final double[] VALUES = {1.5, -0.0, 1e-40, Double.MAX_VALUE, 0.1, Double.NaN};

    private Path file() {
        return dir.resolve("x.safetensors");
    }

    private long write(int bytes) {
        return SafeTensorsWriter.write(
                file(),
                List.of(
                        new SafeTensorsWriter.Entry("a.weight", 2, 3, bytes, () -> VALUES),
                        new SafeTensorsWriter.Entry("b.gain", 1, 2, bytes, () -> new double[] {3, 4})),
                Map.of("run", "größer"));
    }

    /** A file of other programs, with this header and these bytes. */
    private void written(String json, byte[] data) throws IOException {
        byte[] header = json.getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(8 + header.length + data.length).order(ByteOrder.LITTLE_ENDIAN);
        Files.write(file(), bytes.putLong(header.length).put(header).put(data).array());
    }

    private long crc() throws IOException {
        return crc(Files.readAllBytes(file()), 0, (int) Files.size(file()));
    }

    private static long crc(byte[] bytes, int from, int count) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, count);
        return crc.getValue();
    }

    /** Around the size of a part. */
    @ParameterizedTest
    @ValueSource(ints = {0, 1, 13, 8 << 20, (8 << 20) + 1, (24 << 20) - 1})
    void aChecksumIsThatOfTheWhole(int size) {
        byte[] bytes = new byte[size];
        new Random(size).nextBytes(bytes);
        assertThat(Checksum.of(MemorySegment.ofArray(bytes))).isEqualTo(crc(bytes, 0, size));
    }

    @ParameterizedTest
    @ValueSource(ints = {4, 8})
    void whatIsWrittenIsReadBack(int bytes) throws IOException {
        long crc = write(bytes);
        try (SafeTensors read = SafeTensors.read(file())) {
            assertThat(read.names()).containsExactly("a.weight", "b.gain");
            assertThat(read.shape("a.weight")).containsExactly(2, 3);
            assertThat(read.shape("b.gain")).containsExactly(2);
            double[] values = read.values("a.weight");
            for (int i = 0; i < VALUES.length; i++) {
                assertThat(values[i]).isEqualTo(Double.valueOf(bytes == 8 ? VALUES[i] : (float) VALUES[i]));
            }
            assertThat(read.values("b.gain")).containsExactly(3, 4);
            assertThat(read.checksum()).isEqualTo(crc).isEqualTo(crc());
            assertRefused(() -> read.values("c"), "has no tensor c; it has [a.weight, b.gain]");
        }
    }

    @Test
    void theBytesAreTheFormats() throws IOException {
        write(4);
        ByteBuffer in = ByteBuffer.wrap(Files.readAllBytes(file())).order(ByteOrder.LITTLE_ENDIAN);
        int header = (int) in.getLong();
        assertThat(header % 8).as("aligned").isZero();
        byte[] json = new byte[header];
        in.get(json);
        assertThat(new String(json, StandardCharsets.UTF_8).stripTrailing())
                .isEqualTo("{\"__metadata__\":{\"run\":\"größer\"},"
                        + "\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                        + "\"b.gain\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[24,32]}}");
        assertThat(in.getFloat()).isEqualTo(1.5f);
        in.position(8 + header + 24);
        assertThat(in.getFloat()).isEqualTo(3f);
        assertThat(in.getFloat()).isEqualTo(4f);
        assertThat(in.hasRemaining()).isFalse();
    }

    /** As other programs save weights; the bits are those of the formats' definitions. */
    @Test
    void shortNumbersAreReadExactly() throws IOException {
        String json = "{\"b\":{\"dtype\":\"BF16\",\"shape\":[2,4],\"data_offsets\":[0,16]},"
                + "\"h\":{\"dtype\":\"F16\",\"shape\":[8],\"data_offsets\":[16,32]}}";
        ByteBuffer bytes = ByteBuffer.allocate(32).order(ByteOrder.LITTLE_ENDIAN);
        for (int bits : new int[] {0x3f80, 0xc000, 0x3e20, 0x8000, 0x7f7f, 0x0001, 0xff80, 0x7fc0}) {
            bytes.putShort((short) bits); // a float's upper half
        }
        for (int bits : new int[] {0x3c00, 0xc000, 0x3555, 0x8000, 0x7bff, 0x0001, 0xfc00, 0x7e00}) {
            bytes.putShort((short) bits); // a sign, 5 bits of exponent with bias 15, 10 of fraction
        }
        written(json, bytes.array());
        double infinite = Double.NEGATIVE_INFINITY;
        try (SafeTensors read = SafeTensors.read(file())) {
            assertThat(read.shape("b")).containsExactly(2, 4);
            assertThat(read.numberBytes("b")).isEqualTo(2);
            double most = Math.scalb(2 - 0x1p-7, 127), least = 0x1p-133;
            assertThat(read.values("b")).containsExactly(1, -2, 1.25 / 8, -0.0, most, least, infinite, Double.NaN);
            assertThat(read.values("h"))
                    .containsExactly(1, -2, 1365.0 / 4096, -0.0, 65504, 0x1p-24, infinite, Double.NaN);
            assertThat(read.bytes("h"))
                    .as("bytes that checkpoints could take over")
                    .isEmpty();
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
            {"a":{"dtype":"F32","shape":[-1],"data_offsets":[4,0]}}
            {"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}
            {"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}
            {"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,4]}}
            {"a":{"dtype":"F32","shape":["x"],"data_offsets":[0,4]}}
            {"a":{"dtype":"F32","shape":[1]}}
            {"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}
            {"a":{"shape":[1],"data_offsets":[0,4]}}
            {"a":3}
            {
            """)
    void headersThatLie(String json) throws IOException {
        written(json, new byte[4]);
        assertRefused(() -> SafeTensors.read(file()).close(), "x.safetensors");
    }

    /** More tensors than have room, and one that is larger than all room. */
    @Test
    void moreThanThereIsRoomFor() throws IOException {
        long crc = SafeTensorsWriter.begin(file(), large(), Map.of(), 16 << 20).finish();
        assertThat(crc).isEqualTo(crc());
        try (SafeTensors read = SafeTensors.read(file())) {
            assertThat(read.checksum()).isEqualTo(crc);
            for (SafeTensorsWriter.Entry e : large()) {
                assertThat(Arrays.stream(read.values(e.name()))
                                .filter(v -> v == e.rows())
                                .count())
                        .isEqualTo((long) e.rows() * e.cols());
            }
        }
    }

    private static List<SafeTensorsWriter.Entry> large() {
        return IntStream.of(1, 2, 700, 4900, 701, 702, 3, 703, 4)
                .mapToObj(rows -> new SafeTensorsWriter.Entry("t" + rows, rows, 1024, 4, () -> {
                    double[] values = new double[rows * 1024];
                    Arrays.fill(values, rows);
                    return values;
                }))
                .toList();
    }

    /** The thread that fills waits for room, which the one that writes would have to give. */
    @Test
    void aFileThatCannotBeWrittenIsTold() {
        Path nowhere = dir.resolve("none").resolve("x.safetensors");
        SafeTensorsWriter writing = SafeTensorsWriter.begin(nowhere, large(), Map.of(), 1);
        assertThatThrownBy(writing::finish)
                .isInstanceOf(UncheckedIOException.class)
                .hasMessage("cannot write " + nowhere + ": there is no such file or directory");
        assertThat(writing.done()).isTrue();
    }

    @Test
    void aFailedWriteLeavesWhatWasThere() throws IOException {
        write(4);
        byte[] before = Files.readAllBytes(file());
        List<SafeTensorsWriter.Entry> failing = List.of(new SafeTensorsWriter.Entry("a", 1, 1, 4, () -> {
            throw new IllegalStateException("lost");
        }));
        assertThatThrownBy(() -> SafeTensorsWriter.write(file(), failing, Map.of()))
                .hasMessage("lost");
        assertThat(Files.readAllBytes(file())).isEqualTo(before);
        assertThat(dir.toFile().list()).as("nothing is left beside").containsExactly("x.safetensors");
    }
}
