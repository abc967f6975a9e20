package hypertransfer.lab.answer;

import java.util.Formatter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A number for every hidden matrix, kinds down and layers across.
 *
 * @param values by kind, then by layer
 */
public record Heat(String title, Map<String, TreeMap<Integer, Double>> values) {
    private static final Pattern NAME = Pattern.compile("blocks\\.(\\d+)\\.\\w+\\.(\\w+)\\.weight");
    private static final int LEFT = 60, WIDTH = 860, ROW = 26;

    /** Of a list of anything that names a matrix; other names have a row of their own. */
    public static <T> Heat of(String title, List<T> all, Function<T, String> name, ToDoubleFunction<T> value) {
        Map<String, TreeMap<Integer, Double>> values = new LinkedHashMap<>();
        for (T one : all) {
            Matcher block = NAME.matcher(name.apply(one));
            boolean known = block.matches();
            values.computeIfAbsent(known ? block.group(2) : name.apply(one), kind -> new TreeMap<>())
                    .put(known ? Integer.parseInt(block.group(1)) : 0, value.applyAsDouble(one));
        }
        return new Heat(title, values);
    }

    /** As a drawing; the darkest cell has the largest value, and every cell its number. */
    String svg() {
        List<Integer> layers = values.values().stream()
                .flatMap(row -> row.keySet().stream())
                .distinct()
                .sorted()
                .toList();
        double most = values.values().stream()
                .flatMap(row -> row.values().stream())
                .mapToDouble(Math::abs)
                .max()
                .orElse(0);
        double wide = (double) (WIDTH - LEFT) / Math.max(1, layers.size());
        Formatter svg = new Formatter(Locale.ROOT);
        svg.format(
                "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">",
                WIDTH, ROW * (values.size() + 1), Sheet.escaped(title));
        int y = 0;
        for (Map.Entry<String, TreeMap<Integer, Double>> row : values.entrySet()) {
            svg.format(
                    "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>",
                    LEFT - 6, y + 17, Sheet.escaped(row.getKey()));
            for (Map.Entry<Integer, Double> cell : row.getValue().entrySet()) {
                double part = most == 0 ? 0 : Math.abs(cell.getValue()) / most;
                double x = LEFT + wide * layers.indexOf(cell.getKey());
                svg.format(
                        "<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#0072b2\" fill-opacity=\"%.3f\">"
                                + "<title>%s, layer %d: %s</title></rect>",
                        x,
                        y,
                        wide - 2,
                        ROW - 2,
                        0.08 + 0.6 * part,
                        Sheet.escaped(row.getKey()),
                        cell.getKey(),
                        cell.getValue());
                if (wide >= 44) {
                    svg.format(
                            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.3g</text>",
                            x + wide / 2 - 1, y + 17, cell.getValue());
                }
            }
            y += ROW;
        }
        for (int layer : layers) {
            svg.format(
                    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%d</text>",
                    LEFT + wide * (layers.indexOf(layer) + 0.5), y + 17, layer);
        }
        return svg.format("</svg><p>Kinds of matrices down, layers across.</p>").toString();
    }
}
