package hypertransfer.lab.answer;

import hypertransfer.train.file.Atomic;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Formatter;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/** A page that needs nothing else: a title, charts as drawings, a table. No script, no request. */
public final class Sheet {
    private static final int WIDTH = 860;
    private static final int HEIGHT = 300;
    private static final int LEFT = 70;
    private static final int BOTTOM = 34;
    private static final int TOP = 12;
    private static final int POINTS = 400;
    private static final List<String> COLOURS =
            List.of("#0072b2", "#b35806", "#117733", "#882255", "#5e4fa2", "#a6761d", "#1b7f79", "#c2185b");

    private Sheet() {}

    /** A line of a chart; what is not finite, or not above zero on a logarithmic axis, is left out. */
    public record Line(String name, double[] x, double[] y) {}

    /** A chart over steps. */
    public record Chart(String title, boolean logarithmic, List<Line> lines) {}

    /** Writes a new page, with the heat maps below the charts; the first row of the table is its head. */
    public static void write(
            Path file,
            String title,
            List<String> text,
            List<Chart> charts,
            List<Heat> heats,
            List<List<String>> table) {
        StringBuilder page = new StringBuilder("""
                <!doctype html><html lang="en"><head><meta charset="utf-8">
                <meta name="viewport" content="width=device-width">
                <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
                <style>
                body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
                svg{width:100%;height:auto;font-size:12px} .axis{stroke:#999} .grid{stroke:#8884} text{fill:currentColor}
                table{border-collapse:collapse;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}
                td,th{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #8884}
                td:first-child,th:first-child{text-align:left}
                @media(prefers-color-scheme:dark){body{color:#ddd;background:#16181c}}
                </style>
                """);
        page.append("<title>%1$s</title></head><body><h1>%1$s</h1>".formatted(escaped(title)));
        text.forEach(line -> page.append("<p>" + escaped(line) + "</p>"));
        charts.forEach(chart -> draw(page, chart));
        heats.forEach(heat -> page.append("<h2>" + escaped(heat.title()) + "</h2>" + heat.svg()));
        page.append("<table>");
        for (List<String> row : table) {
            String cell = row == table.getFirst() ? "<th>%s</th>" : "<td>%s</td>";
            page.append(row.stream()
                    .map(value -> cell.formatted(escaped(value)))
                    .collect(Collectors.joining("", "<tr>", "</tr>")));
        }
        page.append("</table></body></html>\n");
        Atomic.create(file, "--page", Atomic.text(page.toString()));
    }

    private static void draw(StringBuilder page, Chart chart) {
        double right = 1;
        double low = Double.POSITIVE_INFINITY;
        double high = Double.NEGATIVE_INFINITY;
        for (Line line : chart.lines) {
            for (int i = 0; i < line.x.length; i++) {
                double y = value(chart, line.y[i]);
                if (Double.isFinite(y)) {
                    right = Math.max(right, line.x[i]);
                    low = Math.min(low, y);
                    high = Math.max(high, y);
                }
            }
        }
        if (!(low < high)) {
            low = Double.isFinite(low) ? low - 1 : 0;
            high = low + 2;
        }
        Formatter svg = new Formatter(page, Locale.ROOT);
        svg.format(
                "<h2>%1$s</h2><svg viewBox=\"0 0 %2$d %3$d\" role=\"img\" aria-label=\"%1$s\">",
                escaped(chart.title), WIDTH, HEIGHT);
        for (int i = 0; i <= 4; i++) {
            double y = low + (high - low) * i / 4;
            double at = HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * i / 4.0;
            svg.format(
                    "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\""
                            + " text-anchor=\"end\">%s</text>",
                    LEFT, WIDTH, at, at, LEFT - 6, at + 4, number(chart.logarithmic ? Math.exp(y) : y));
            double x = LEFT + (WIDTH - LEFT - 20) * i / 4.0;
            svg.format("<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>", x, HEIGHT - 12, right * i / 4);
        }
        List<String> legend = new ArrayList<>();
        for (int i = 0; i < chart.lines.size(); i++) {
            Line line = chart.lines.get(i);
            String colour = COLOURS.get(i % COLOURS.size());
            page.append("<polyline fill=\"none\" stroke-width=\"1.6\" stroke=\"" + colour + "\" points=\"");
            int every = Math.max(1, line.x.length / POINTS);
            for (int k = 0; k < line.x.length; k += every) {
                double y = value(chart, line.y[k]);
                if (Double.isFinite(y)) {
                    svg.format(
                            "%.1f,%.1f ",
                            LEFT + (WIDTH - LEFT - 20) * line.x[k] / right,
                            HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (y - low) / (high - low));
                }
            }
            page.append("\"><title>" + escaped(line.name) + "</title></polyline>");
            legend.add("<span style=\"color:" + colour + "\">&#9644;</span> " + escaped(line.name));
        }
        String names = legend.size() <= 16 ? String.join(" &ensp; ", legend) : legend.size() + " matrices";
        page.append("</svg><p>step, from left to right. " + names + "</p>");
    }

    private static double value(Chart chart, double y) {
        return !chart.logarithmic ? y : y > 0 ? Math.log(y) : Double.NaN;
    }

    private static String number(double value) {
        return String.format(Locale.ROOT, Math.abs(value) >= 1e-3 && Math.abs(value) < 1e4 ? "%.4f" : "%.1e", value);
    }

    static String escaped(String text) {
        return text.replace("&", "&amp;")
                .replace("<", "&lt;")
                .replace(">", "&gt;")
                .replace("\"", "&quot;");
    }
}
