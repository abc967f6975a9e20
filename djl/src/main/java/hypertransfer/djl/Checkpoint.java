package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDArrays;
import ai.djl.ndarray.NDList;
import ai.djl.ndarray.NDManager;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.DataType;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.GradientRule;
import hypertransfer.core.Refusal;
import hypertransfer.core.Space;
import hypertransfer.core.State;
import hypertransfer.core.Transfer;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.CheckedOutputStream;

/**
 * The optimizer's state as bytes, every double and every array exact: a magic number, the format's version, the number of
 * slots, the slots, and the CRC-32 of all that. Arrays are written in pieces, so that they may be of any size.
 */
final class Checkpoint {
    private static final int MAGIC = 0x48544A53; // HTJS
    private static final int FIRST = 0x48544A31; // HTJ1: version 1 had no number of its own
    private static final int VERSION = 2;
    private static final int PIECE = 1 << 20; // elements
    private static final int MOST_DIMENSIONS = 32;

    private Checkpoint() {}

    /**
     * What is saved of a parameter.
     *
     * @param direction the signature of the direction that it was trained with
     * @param scale the multiple of the carrier that the weight stood at
     * @param memory the direction's arrays: the live ones on the way to a file, copies on the way back
     */
    record Saved(String direction, Transfer transfer, State state, double scale, List<NDArray> memory) {}

    /** A space of the user's own: its text is all that is compared. */
    private record Other(String text) implements Space {
        @Override
        public double decay() {
            return 0;
        }

        @Override
        public String toString() {
            return text;
        }
    }

    /** Writes what is saved of each parameter, by its name; the stream stays open. */
    static void write(Map<String, Saved> slots, OutputStream to) throws IOException {
        CheckedOutputStream checked = new CheckedOutputStream(to, new CRC32());
        DataOutputStream out = new DataOutputStream(checked);
        out.writeInt(MAGIC);
        out.writeInt(VERSION);
        out.writeInt(slots.size());
        for (Map.Entry<String, Saved> entry : slots.entrySet()) {
            Saved saved = entry.getValue();
            out.writeUTF(entry.getKey());
            out.writeUTF(saved.direction());
            space(saved.transfer().target(), out);
            space(saved.transfer().carrier(), out);
            out.writeUTF(saved.transfer().gradient().name());
            out.writeLong(saved.state().step());
            out.writeDouble(saved.state().R());
            out.writeDouble(saved.state().norm());
            out.writeDouble(saved.state().targetNorm());
            out.writeDouble(saved.scale());
            out.writeInt(saved.memory().size());
            for (NDArray array : saved.memory()) {
                array(array, out);
            }
        }
        out.writeLong(checked.getChecksum().getValue());
        out.flush();
    }

    /** Reads a state. The arrays belong to the manager afterwards, also where reading fails: close it then. */
    static Map<String, Saved> read(InputStream from, NDManager manager) {
        CheckedInputStream checked = new CheckedInputStream(from, new CRC32());
        DataInputStream in = new DataInputStream(checked);
        try {
            version(in);
            Map<String, Saved> slots = new LinkedHashMap<>();
            for (int left = in.readInt(); left > 0; left--) {
                String name = in.readUTF();
                String direction = in.readUTF();
                Transfer transfer = new Transfer(space(in), space(in), GradientRule.valueOf(in.readUTF()));
                State state = new State(name, in.readLong(), in.readDouble(), in.readDouble(), in.readDouble());
                double scale = in.readDouble();
                List<NDArray> memory = new ArrayList<>();
                for (int arrays = in.readInt(); arrays > 0; arrays--) {
                    memory.add(array(in, manager));
                }
                slots.put(name, new Saved(direction, transfer, state, scale, memory));
            }
            long sum = checked.getChecksum().getValue();
            if (in.readLong() != sum) {
                throw damaged(null);
            }
            return slots;
        } catch (IOException | IllegalArgumentException | ArithmeticException e) {
            throw damaged(e);
        }
    }

    private static void version(DataInputStream in) throws IOException {
        int magic = in.readInt();
        if (magic != MAGIC && magic != FIRST) {
            throw new Refusal("the optimizer state begins with " + Integer.toHexString(magic) + " instead of "
                    + Integer.toHexString(MAGIC) + "; load a file that this optimizer saved");
        }
        int version = magic == FIRST ? 1 : in.readInt();
        if (version != VERSION) {
            throw new Refusal("the optimizer state has format version " + version + ", and this library reads version "
                    + VERSION + "; load it with the library that saved it, or let the optimizer start afresh");
        }
    }

    private static void space(Space space, DataOutputStream out) throws IOException {
        switch (space) {
            case Space.Base(double decay) -> {
                out.writeByte('B');
                out.writeDouble(decay);
            }
            case Space.Hyperball() -> out.writeByte('H');
            case Space.Controlled(double decay, double floor, double brake, boolean pinned) -> {
                out.writeByte('C');
                out.writeDouble(decay);
                out.writeDouble(floor);
                out.writeDouble(brake);
                out.writeBoolean(pinned);
            }
            default -> {
                out.writeByte('O');
                out.writeUTF(space.toString());
            }
        }
    }

    private static Space space(DataInputStream in) throws IOException {
        return switch (in.readByte()) {
            case 'B' -> new Space.Base(in.readDouble());
            case 'H' -> new Space.Hyperball();
            case 'O' -> new Other(in.readUTF());
            case 'C' -> new Space.Controlled(in.readDouble(), in.readDouble(), in.readDouble(), in.readBoolean());
            default -> throw damaged(null);
        };
    }

    private static void array(NDArray array, DataOutputStream out) throws IOException {
        out.writeByte(array.getDataType().getNumOfBytes());
        out.writeInt(array.getShape().dimension());
        for (long size : array.getShape().getShape()) {
            out.writeLong(size);
        }
        long count = array.getShape().size();
        try (NDArray flat = array.reshape(-1)) {
            for (long at = 0; at < count; at += PIECE) {
                try (NDArray piece = flat.get(new NDIndex("{}:{}", at, Math.min(count, at + PIECE)))) {
                    out.write(piece.toByteArray()); // little-endian, as all processors that DJL has engines for
                }
            }
        }
    }

    private static NDArray array(DataInputStream in, NDManager manager) throws IOException {
        int width = in.readByte();
        int dimensions = in.readInt();
        if (width != 4 && width != 8 || dimensions < 0 || dimensions > MOST_DIMENSIONS) {
            throw damaged(null);
        }
        long[] sizes = new long[dimensions];
        long count = 1;
        for (int i = 0; i < dimensions; i++) {
            sizes[i] = in.readLong();
            count = Math.multiplyExact(count, sizes[i]);
        }
        // a damaged size must not allocate gigabytes: what is allocated grows with what is there
        try (NDList pieces = new NDList()) {
            for (long at = 0; at < count; at += PIECE) {
                int size = (int) Math.min(PIECE, count - at);
                byte[] bytes = in.readNBytes(width * size);
                if (bytes.length != width * size) {
                    throw damaged(null);
                }
                DataType type = width == Float.BYTES ? DataType.FLOAT32 : DataType.FLOAT64;
                // DJL makes an array over a buffer that the garbage collector frees: a copy is the engine's own memory
                try (NDArray buffer = manager.create(ByteBuffer.wrap(bytes), new Shape(size), type)) {
                    pieces.add(buffer.duplicate());
                }
            }
            if (pieces.isEmpty()) {
                throw damaged(null);
            }
            try (NDArray joined = NDArrays.concat(pieces)) {
                return joined.reshape(new Shape(sizes));
            }
        }
    }

    private static Refusal damaged(Exception cause) {
        return new Refusal("the optimizer state is damaged or cut short; load an earlier one", cause);
    }
}
