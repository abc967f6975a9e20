package hypertransfer.train.network;

/**
 * What a parameter is before any engine holds it.
 *
 * @param hidden whether it is a matrix inside a block, which has a direction and a transfer of its own
 */
public record Outline(String name, int rows, int cols, boolean hidden) {
    public long size() {
        return (long) rows * cols;
    }

    /** The multiplications and additions of one step of Newton-Schulz: A = X X^T, A A, and the product with X. */
    public double schulz() {
        double side = Math.min(rows, cols);
        return 4 * side * size() + 2 * side * side * side;
    }
}
