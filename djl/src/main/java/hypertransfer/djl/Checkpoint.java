package hypertransfer.djl;

import hypertransfer.core.Refusal;
import hypertransfer.core.State;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.CRC32;
import java.util.zip.CheckedInputStream;
import java.util.zip.CheckedOutputStream;

/**
 * The optimizer's state as bytes, every double and every array exact: a magic number, the number of slots, the slots,
 * and the CRC-32 of all that.
 */
final class Checkpoint {
    private static final int MAGIC = 0x48544A31; // HTJ1
    private static final int MOST_ARRAYS = 2;

    private Checkpoint() {}

    static void write(Map<String, Saved> slots, OutputStream to) throws IOException {
        CheckedOutputStream checked = new CheckedOutputStream(to, new CRC32());
        DataOutputStream out = new DataOutputStream(checked);
        out.writeInt(MAGIC);
        out.writeInt(slots.size());
        for (Map.Entry<String, Saved> entry : slots.entrySet()) {
            Saved saved = entry.getValue();
            out.writeUTF(entry.getKey());
            out.writeUTF(saved.rule());
            out.writeLong(saved.state().step());
            out.writeDouble(saved.state().R());
            out.writeDouble(saved.state().norm());
            out.writeDouble(saved.state().targetNorm());
            out.writeDouble(saved.scale());
            out.writeInt(saved.memory().size());
            for (byte[] array : saved.memory()) {
                out.writeInt(array.length);
                out.write(array);
            }
        }
        out.writeLong(checked.getChecksum().getValue());
        out.flush();
    }

    static Map<String, Saved> read(InputStream from) {
        CheckedInputStream checked = new CheckedInputStream(from, new CRC32());
        DataInputStream in = new DataInputStream(checked);
        try {
            int magic = in.readInt();
            if (magic != MAGIC) {
                throw new Refusal("the optimizer state begins with " + Integer.toHexString(magic) + " instead of "
                        + Integer.toHexString(MAGIC) + "; load a file that this optimizer saved");
            }
            Map<String, Saved> slots = new LinkedHashMap<>();
            for (int left = in.readInt(); left > 0; left--) {
                String name = in.readUTF();
                String rule = in.readUTF();
                State state = new State(name, in.readLong(), in.readDouble(), in.readDouble(), in.readDouble());
                slots.put(name, new Saved(rule, state, in.readDouble(), arrays(in)));
            }
            long sum = checked.getChecksum().getValue();
            if (in.readLong() != sum) {
                throw damaged(null);
            }
            return slots;
        } catch (IOException e) {
            throw damaged(e);
        }
    }

    private static List<byte[]> arrays(DataInputStream in) throws IOException {
        int count = in.readInt();
        if (count < 0 || count > MOST_ARRAYS) {
            throw damaged(null);
        }
        List<byte[]> arrays = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            int length = in.readInt();
            // a damaged length must not allocate gigabytes: readNBytes grows with what is there
            byte[] array = length < 0 ? new byte[0] : in.readNBytes(length);
            if (array.length != length) {
                throw damaged(null);
            }
            arrays.add(array);
        }
        return arrays;
    }

    private static Refusal damaged(IOException cause) {
        return new Refusal("the optimizer state is damaged or cut short; load an earlier one", cause);
    }
}
