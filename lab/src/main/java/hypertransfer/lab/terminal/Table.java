package hypertransfer.lab.terminal;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * Rows as people read them. A column is as wide as its widest cell, with words to the left and numbers to the right. On a
 * narrow terminal the columns that do not fit stand in a second table below; the names of the first column, which begins
 * both, are shortened where it takes more than a third.
 */
public final class Table<T> {
    private static final int MOST = 200, NARROWEST = 12;

    /** @param format of one value; words have {@code %s} */
    private record Column<T>(String head, String format, Function<T, ?> value, Function<String, Ink> ink) {
        String cell(T row) {
            Object found = value.apply(row);
            return found == null || found.equals(Double.NaN)
                    ? "-"
                    : found instanceof Double number ? number(format, number) : format.formatted(found);
        }

        String padded(String cell, int width) {
            return (format.equals("%s") ? "%-" : "%").concat(width + "s").formatted(cell);
        }
    }

    private final List<Column<T>> columns = new ArrayList<>();

    /** A number as people read it: one that is rounded to zero has the sign of zero. */
    public static String number(String format, double value) {
        String text = format.formatted(value);
        return text.matches("[^1-9]*-[^1-9]*0[^1-9]*") ? format.formatted(0.0) : text;
    }

    /** Adds a column; a value that is null or no number is a dash. */
    public Table<T> column(String head, String format, Function<T, ?> value) {
        columns.add(new Column<>(head, format, value, null));
        return this;
    }

    /** Adds a column of coloured words. */
    public Table<T> column(String head, Function<T, ?> value, Function<String, Ink> ink) {
        columns.add(new Column<>(head, "%s", value, ink));
        return this;
    }

    /** Prints the rows; of very many the first. */
    public void print(PrintWriter out, List<T> rows) {
        List<T> shown = rows.subList(0, Math.min(MOST, rows.size()));
        int[] widths = columns.stream()
                .mapToInt(c -> shown.stream()
                        .mapToInt(row -> c.cell(row).length())
                        .reduce(Math.max(1, c.head.length()), Math::max))
                .toArray();
        int room = Width.here().columns() - 1,
                others = IntStream.of(widths).skip(1).map(width -> width + 1).sum();
        Column<T> first = columns.getFirst();
        List<String> names = Width.apart(
                shown.stream().map(first::cell).toList(), Math.max(Math.max(NARROWEST, room / 3), room - others));
        widths[0] = Stream.concat(Stream.of(first.head), names.stream())
                .mapToInt(String::length)
                .max()
                .orElseThrow();
        for (int from = 1, to; from == 1 || from < widths.length; from = to) {
            int taken = widths[0];
            for (to = from; to < widths.length && (to == from || taken + 1 + widths[to] <= room); to++) {
                taken += 1 + widths[to];
            }
            int[] block =
                    IntStream.concat(IntStream.of(0), IntStream.range(from, to)).toArray();
            out.println(Ink.BOLD.on(line(block, widths, (column, width) -> column.padded(column.head, width))));
            for (int i = 0; i < shown.size(); i++) {
                T row = shown.get(i);
                String name = names.get(i);
                out.println(line(block, widths, (column, width) -> {
                    String cell = column.cell(row), padded = column.padded(column == first ? name : cell, width);
                    return column.ink == null ? padded : column.ink.apply(cell).on(padded);
                }));
            }
        }
        if (rows.size() > MOST) {
            out.println("and " + (rows.size() - MOST) + " more; --json has all");
        }
    }

    private String line(int[] block, int[] widths, BiFunction<Column<T>, Integer, String> cell) {
        return IntStream.of(block)
                .mapToObj(i -> cell.apply(columns.get(i), widths[i]))
                .collect(Collectors.joining(" "))
                .stripTrailing();
    }
}
