package hypertransfer.train.tensorboard;

import hypertransfer.train.log.Log;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/** A TensorBoard event file: TFRecords that hold Event messages of one scalar each. */
public final class Events implements AutoCloseable {
    private static final int DOUBLE = 1, BYTES = 2, FLOAT = 5; // protocol buffers' wire types

    private final Log file;
    private final ByteArrayOutputStream waiting = new ByteArrayOutputStream();

    /**
     * Starts a new file, since TensorBoard reads all of a directory in the order of their times.
     *
     * @param firstStep what earlier files have from this step on is dropped
     */
    public Events(Path directory, int firstStep) {
        long now = System.currentTimeMillis();
        file = new Log(directory.resolve("events.out.tfevents." + now / 1000 + "."
                + ProcessHandle.current().pid() + "." + now % 1000 + "." + host()));
        record(new Message().time(now).text(3, "brain.Event:2"));
        // a session that starts: TensorBoard then drops what an earlier file has from this step on
        record(new Message().time(now).varint(2, firstStep).message(7, new Message().varint(1, 1)));
        flush();
    }

    /** Adds a number, which is in the file after {@link #flush}. */
    public void scalar(int step, String tag, double value) {
        Message scalar = new Message().text(1, tag).number(2, (float) value);
        record(new Message()
                .time(System.currentTimeMillis())
                .varint(2, step)
                .message(5, new Message().message(1, scalar)));
    }

    @Override
    public void close() {
        file.close();
    }

    private void record(Message message) {
        byte[] data = message.bytes.toByteArray();
        ByteBuffer record = little(16 + data.length);
        record.putLong(data.length).putInt(masked(record.array(), 8));
        record.put(data).putInt(masked(data, data.length));
        waiting.writeBytes(record.array());
    }

    public void flush() {
        file.append(waiting.toByteArray());
        waiting.reset();
    }

    /** TFRecord's masked CRC-32C. */
    private static int masked(byte[] data, int length) {
        CRC32C crc = new CRC32C();
        crc.update(data, 0, length);
        int value = (int) crc.getValue();
        return (value >>> 15 | value << 17) + 0xa282ead8;
    }

    private static String host() {
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (IOException e) {
            return "localhost";
        }
    }

    /** A protocol buffer in the making. */
    private static final class Message {
        private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();

        Message time(long millis) {
            key(1, DOUBLE);
            bytes.writeBytes(little(8).putDouble(millis / 1000.0).array());
            return this;
        }

        Message varint(int field, long value) {
            key(field, 0);
            raw(value);
            return this;
        }

        Message number(int field, float value) {
            key(field, FLOAT);
            bytes.writeBytes(little(4).putFloat(value).array());
            return this;
        }

        Message text(int field, String value) {
            return delimited(field, value.getBytes(StandardCharsets.UTF_8));
        }

        Message message(int field, Message value) {
            return delimited(field, value.bytes.toByteArray());
        }

        private Message delimited(int field, byte[] value) {
            key(field, BYTES);
            raw(value.length);
            bytes.writeBytes(value);
            return this;
        }

        private void key(int field, int type) {
            raw((long) field << 3 | type);
        }

        private void raw(long value) {
            for (; (value & ~0x7fL) != 0; value >>>= 7) {
                bytes.write((int) (value & 0x7f | 0x80));
            }
            bytes.write((int) value);
        }
    }

    private static ByteBuffer little(int size) {
        return ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
    }
}
