package hypertransfer.core;

/** The factors by which Muon's update is adapted to a matrix's shape. */
public enum ShapeFactor {
    /** The paper's. */
    NONE,
    /** {@code sqrt(max(1, rows/cols))}. */
    TALL,
    /** {@code sqrt(rows/cols)}: the spectral norm in units of the layer's widths. */
    SPECTRAL,
    /** {@code 0.2 sqrt(max(rows, cols))}: the root mean square of an Adam update. */
    RMS;

    /**
     * The factor of one shape.
     *
     * @param rows of the matrix
     * @param cols of the matrix
     * @return what the update is multiplied by
     */
    public double factor(long rows, long cols) {
        return switch (this) {
            case NONE -> 1;
            case TALL -> Math.sqrt(Math.max(1, (double) rows / cols));
            case SPECTRAL -> Math.sqrt((double) rows / cols);
            case RMS -> 0.2 * Math.sqrt(Math.max(rows, cols));
        };
    }
}
