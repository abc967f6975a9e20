package hypertransfer.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;
import ai.djl.ndarray.types.Shape;
import hypertransfer.core.Refusal;
import java.util.Arrays;
import java.util.Locale;

/**
 * What counts as a matrix in a parameter. Each part has a norm, a radius, a memory and an orthogonalisation of its own, and is
 * saved under the parameter's name with its number, {@code qkv#2}.
 *
 * @param form how the parameter becomes one matrix or several
 * @param down parts of each matrix one below the other: heads of queries, keys and values, or 3 for the three in one
 * @param across parts of each matrix beside each other: heads of the output projection
 */
public record View(Form form, int down, int across) {
    /** How a parameter becomes matrices. */
    public enum Form {
        /** As it is. */
        WHOLE,
        /** A parameter of three dimensions is a stack of matrices, such as experts. */
        STACK,
        /** The first dimension against all others: a convolution as out x (in h w). */
        FLAT
    }

    /** The parameter as it is. */
    public static final View PLAIN = new View(Form.WHOLE, 1, 1);

    /** Refuses numbers below one, and columns of what is flattened. */
    public View {
        if (down < 1 || across < 1 || form == Form.FLAT && across > 1) {
            throw new Refusal("a view of " + down + " x " + across + " parts of a parameter "
                    + form.name().toLowerCase(Locale.ROOT)
                    + " is not possible; both must be one or more, and a flat one has no columns to divide");
        }
    }

    /**
     * Parts one below the other.
     *
     * @param parts how many
     * @return the view
     */
    public static View rows(int parts) {
        return new View(Form.WHOLE, parts, 1);
    }

    /**
     * Parts beside each other.
     *
     * @param parts how many
     * @return the view
     */
    public static View columns(int parts) {
        return new View(Form.WHOLE, 1, parts);
    }

    /**
     * Parts in rows and columns.
     *
     * @param down parts one below the other
     * @param across parts beside each other
     * @return the view
     */
    public static View blocks(int down, int across) {
        return new View(Form.WHOLE, down, across);
    }

    /** {@return the matrices of a parameter of three dimensions, one by one, such as experts} */
    public static View stack() {
        return new View(Form.STACK, 1, 1);
    }

    /** {@return the first dimension against all others, such as a convolution as out x (in h w)} */
    public static View flat() {
        return new View(Form.FLAT, 1, 1);
    }

    /** {@code blocks(1, 4)}, {@code stack}: as it stands in routing tables and saved states. */
    @Override
    public String toString() {
        String parts = down == 1 && across == 1 ? "" : "blocks(" + down + ", " + across + ")";
        return switch (form) {
            case WHOLE -> parts.isEmpty() ? "whole" : parts;
            case STACK -> parts.isEmpty() ? "stack" : "stack of " + parts;
            case FLAT -> parts.isEmpty() ? "flat" : "flat " + parts;
        };
    }

    boolean plain() {
        return equals(PLAIN);
    }

    /** How many parts a parameter has. */
    int parts(String name, Shape shape) {
        if (plain()) {
            return 1;
        }
        int dimensions = shape.dimension();
        boolean fits = switch (form) {
            case WHOLE -> dimensions == 2;
            case STACK -> dimensions == 3;
            case FLAT -> dimensions >= 2;
        };
        long rows = fits ? shape.get(form == Form.STACK ? 1 : 0) : 0;
        long cols = fits ? shape.get(dimensions - 1) : 0;
        if (!fits || rows % down != 0 || cols % across != 0) {
            throw new Refusal(name + " has shape " + shape + ", which the view " + this
                    + " does not divide; choose a view whose parts have one shape");
        }
        return (form == Form.STACK ? Math.toIntExact(shape.get(0)) : 1) * down * across;
    }

    /** Part number k: the array itself, or another one that is two-dimensional. */
    NDArray take(NDArray whole, int k) {
        if (plain()) {
            return whole;
        }
        NDArray part = whole.get(index(whole.getShape(), k));
        long rows = part.getShape().get(form == Form.STACK && part.getShape().dimension() == 3 ? 1 : 0);
        return part.reshape(rows, -1).duplicate();
    }

    /** Puts back what {@link #take} took. */
    void put(NDArray whole, int k, NDArray part) {
        if (!plain()) {
            NDIndex index = index(whole.getShape(), k);
            whole.set(index, part.reshape(whole.get(index).getShape()));
        }
    }

    private NDIndex index(Shape shape, int k) {
        int each = down * across, matrix = k / each, block = k % each;
        int first = form == Form.STACK ? 1 : 0;
        long rows = shape.get(first) / down, top = block / across * rows;
        NDIndex index = new NDIndex();
        if (form == Form.STACK) {
            index.addIndices(matrix);
        }
        index.addSliceDim(top, top + rows);
        if (form != Form.FLAT) {
            long cols = shape.get(first + 1) / across, left = block % across * cols;
            index.addSliceDim(left, left + cols);
        }
        return index;
    }

    /** The shape of a part. */
    Shape shape(Shape whole) {
        if (plain()) {
            return whole;
        }
        long[] sizes = whole.getShape();
        int first = form == Form.STACK ? 1 : 0;
        long cols = Arrays.stream(sizes).skip(first + 1L).reduce(1, (x, y) -> x * y);
        return new Shape(sizes[first] / down, cols / across);
    }

    static String name(String parameter, int k, int parts) {
        return parts == 1 ? parameter : parameter + "#" + k;
    }
}
