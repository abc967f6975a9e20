package hypertransfer.engine;

/** A tensor's name and shape, which all engines keep alike; where its numbers are is each engine's own. */
public abstract class Matrix implements Tensor {
    private final String name;
    private final int rows;
    private final int cols;

    protected Matrix(String name, int rows, int cols) {
        if (rows <= 0 || cols <= 0) {
            throw new EngineException(
                    "tensor " + name + " is declared as (" + rows + "," + cols + "); both must be one or more");
        }
        this.name = name;
        this.rows = rows;
        this.cols = cols;
    }

    @Override
    public final String name() {
        return name;
    }

    @Override
    public final int rows() {
        return rows;
    }

    @Override
    public final int cols() {
        return cols;
    }
}
