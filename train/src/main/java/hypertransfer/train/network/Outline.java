package hypertransfer.train.network;

import hypertransfer.train.Word;

/**
 * What a parameter is before any engine holds it.
 *
 * @param layer the block that it is in; -1 outside of blocks
 */
public record Outline(String name, int rows, int cols, int layer, Kind kind) {
    /** What a parameter is for. Those up to {@code PROJ} are the hidden matrices. */
    public enum Kind implements Word {
        Q,
        K,
        V,
        O,
        GATE,
        FC,
        PROJ,
        EMBEDDING,
        POSITIONS,
        HEAD,
        GAIN,
        BIAS;

        /** Whether it is a matrix inside a block, which has a direction and a transfer of its own. */
        public boolean hidden() {
            return compareTo(PROJ) <= 0;
        }

        /** {@code mlp.fc}, of a hidden matrix. */
        public String path() {
            return (compareTo(O) <= 0 ? "attn." : "mlp.") + label();
        }

        /** {@code blocks.3.mlp.fc.weight}, of a hidden matrix. */
        public String in(int layer) {
            return "blocks." + layer + "." + path() + ".weight";
        }
    }

    static Outline hidden(int layer, Kind kind, int rows, int cols) {
        return new Outline(kind.in(layer), rows, cols, layer, kind);
    }

    public boolean hidden() {
        return kind.hidden();
    }

    public long size() {
        return (long) rows * cols;
    }

    /** The multiplications and additions of one step of Newton-Schulz: A = X X^T, A A, and the product with X. */
    public double schulz() {
        double side = Math.min(rows, cols);
        return 4 * side * size() + 2 * side * side * side;
    }
}
