package hypertransfer.train.network;

import hypertransfer.core.Refusal;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.DoubleStream;

/**
 * A tensor of another program's file, and the parameters of ours that it holds.
 *
 * @param rows 1 for a row of numbers
 * @param parts ours, one below the other before the form is applied; none for what only the other program has
 * @param head the width of a head
 */
public record Foreign(String name, int rows, int cols, List<Outline> parts, Form form, int head) {
    /** How the two differ. */
    public enum Form {
        SAME,
        /** The halves of every head change places: the other program turns queries and keys the other way round. */
        HALVES,
        /** (in,out) there, (out,in) here. */
        TRANSPOSED,
        /** The factor of a norm, which is 1 + gain here. */
        GAIN,
        /** All zeros: what is added there and not here. */
        ZEROS
    }

    /** A matrix, or several one below the other. */
    static Foreign of(String name, Form form, int head, Outline... parts) {
        int rows = Arrays.stream(parts).mapToInt(Outline::rows).sum(), cols = parts[0].cols();
        boolean flipped = form == Form.TRANSPOSED;
        return new Foreign(name, flipped ? cols : rows, flipped ? rows : cols, List.of(parts), form, head);
    }

    /** Its values, made of ours. */
    public double[] values(Function<String, double[]> ours) {
        double[] all = parts.stream()
                .map(part -> ours.apply(part.name()))
                .flatMapToDouble(Arrays::stream)
                .toArray();
        return switch (form) {
            case SAME -> all;
            case HALVES -> halves(all);
            case TRANSPOSED -> transposed(all, cols, rows);
            case GAIN -> DoubleStream.of(all).map(gain -> 1 + gain).toArray();
            case ZEROS -> new double[Math.multiplyExact(rows, cols)];
        };
    }

    /** Ours by their names, made of its values. */
    public Map<String, double[]> ours(double[] values) {
        double[] all = switch (form) {
            case SAME -> values;
            case HALVES -> halves(values);
            case TRANSPOSED -> transposed(values, rows, cols);
            case GAIN -> DoubleStream.of(values).map(factor -> factor - 1).toArray();
            case ZEROS -> zeros(values);
        };
        Map<String, double[]> ours = new LinkedHashMap<>();
        int from = 0;
        for (Outline part : parts) {
            int to = from + Math.toIntExact(part.size());
            ours.put(part.name(), Arrays.copyOfRange(all, from, to));
            from = to;
        }
        return ours;
    }

    private double[] zeros(double[] values) {
        for (double value : values) {
            if (value != 0) {
                throw new Refusal(name + " has the number " + value + ", but this network has no such tensor; it must"
                        + " be all zeros: set model.bias to true, or model.positions to learned");
            }
        }
        return values;
    }

    private double[] halves(double[] x) {
        double[] y = new double[x.length];
        int half = head / 2 * cols, whole = head * cols;
        for (int at = 0; at < x.length; at += whole) {
            System.arraycopy(x, at, y, at + half, half);
            System.arraycopy(x, at + half, y, at, half);
        }
        return y;
    }

    private static double[] transposed(double[] x, int rows, int cols) {
        double[] y = new double[x.length];
        for (int r = 0; r < rows; r++) {
            for (int c = 0; c < cols; c++) {
                y[c * rows + r] = x[r * cols + c];
            }
        }
        return y;
    }
}
