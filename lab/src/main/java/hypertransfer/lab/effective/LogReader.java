package hypertransfer.lab.effective;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Strict;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.zip.GZIPInputStream;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVRecord;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reads a log of someone else's run, row by row: .csv (comma, semicolon or tab) or .jsonl, also .gz; long, one row per
 * step and matrix, or wide, one row per step with columns such as {@code weight_norm/layer1}.
 */
final class LogReader {
    static final String STEP = "step";
    private static final String MATRIX = "matrix";
    private static final Set<String> NUMBERS =
            Set.of("weight_norm", "direction_norm", "update_norm", "inner_product", "rate", "decay");
    private static final int SHOWN = 20; // problems; the others are counted

    private final Path file;
    private Consumer<Row> rows;
    private char last; // that was read

    /** The names of the columns that were met, without their matrices. */
    final Set<String> columns = new LinkedHashSet<>();

    /** One sentence for each of the first rows that were left out. */
    final List<String> problems = new ArrayList<>();

    /** How many were. */
    long leftOut;

    /** One matrix at one step; what the log does not say is NaN. */
    record Row(long line, long step, String matrix, Map<String, Double> numbers) {
        double number(String column) {
            return numbers.getOrDefault(column, Double.NaN);
        }

        boolean has(String column) {
            return numbers.containsKey(column);
        }
    }

    LogReader(Path file) {
        this.file = file;
    }

    /** Says why a row, or a line that is none, is left out. */
    void leaveOut(long line, String column, String why) {
        if (leftOut++ < SHOWN) {
            problems.add("line " + line + (column.isEmpty() ? "" : ", column " + column) + ": " + why);
        }
    }

    void read(Consumer<Row> rows) {
        this.rows = rows;
        if (!Files.isRegularFile(file)) {
            throw new Refusal(file + " is not a file; give a log as .csv or .jsonl, also with .gz");
        }
        try (BufferedReader in = open()) {
            String first = in.readLine();
            if (first != null && first.startsWith("\ufeff")) {
                first = first.substring(1);
            }
            while (first != null && first.isBlank()) {
                first = in.readLine();
            }
            if (first == null) {
                throw new Refusal(file + " is empty; its first line must name the columns, such as"
                        + " step,matrix,weight_norm,update_norm,rate,decay");
            }
            if (first.stripLeading().startsWith("{")) {
                json(first, in);
            } else {
                csv(first, in);
            }
        } catch (IOException e) {
            throw new Refusal("cannot read " + file + ": " + Atomic.reason(e), e);
        }
    }

    private BufferedReader open() throws IOException {
        InputStream in = new BufferedInputStream(Files.newInputStream(file), 1 << 16);
        in.mark(2);
        boolean zipped = in.read() == 0x1f && in.read() == 0x8b;
        in.reset();
        InputStream plain = zipped ? new GZIPInputStream(in, 1 << 16) : in;
        Reader text = new InputStreamReader(plain, StandardCharsets.UTF_8) {
            @Override
            public int read(char[] to, int from, int length) throws IOException {
                int count = super.read(to, from, length);
                last = count > 0 ? to[from + count - 1] : last;
                return count;
            }
        };
        return new BufferedReader(text, 1 << 16);
    }

    private void csv(String header, BufferedReader in) throws IOException {
        CSVFormat format = CSVFormat.DEFAULT
                .builder()
                .setDelimiter(header.indexOf('\t') >= 0 ? '\t' : header.indexOf(';') >= 0 ? ';' : ',')
                .setTrim(true)
                .setTrailingData(true)
                .setLenientEof(true)
                .get();
        List<String> names = CSVParser.parse(header, format).getRecords().getFirst().stream()
                .map(LogReader::known)
                .toList();
        names.forEach(name -> columns.add(quantity(name)));
        if (Set.copyOf(names).size() < names.size()) {
            throw new Refusal(file + " line 1 names a column twice: " + names + "; give each a name of its own");
        }
        CSVFormat named = format.builder()
                .setHeader(names.toArray(String[]::new))
                .setAllowMissingColumnNames(true)
                .get();
        for (Iterator<CSVRecord> all = named.parse(in).iterator(); more(all); ) {
            CSVRecord cells = all.next();
            long line = 1 + cells.getParser().getCurrentLineNumber();
            if (!cells.isConsistent()) {
                leaveOut(line, "", cells.size() + " cells instead of " + names.size());
            } else if (!more(all) && last != '\n' && last != '\r') {
                leaveOut(line, "", "the file ends within it; if the line is complete, add a newline");
            } else {
                spread(line, cells.toMap());
            }
        }
    }

    private static boolean more(Iterator<CSVRecord> all) throws IOException {
        try {
            return all.hasNext();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
    }

    private void json(String first, BufferedReader in) throws IOException {
        long number = 0;
        for (String line = first; line != null; line = in.readLine()) {
            number++;
            if (line.isBlank()) {
                continue;
            }
            Map<String, String> row = new LinkedHashMap<>();
            try {
                for (Map.Entry<String, JsonNode> field :
                        JsonMapper.shared().readTree(line).properties()) {
                    String name = known(field.getKey());
                    if (field.getValue().isObject()) { // {"weight_norm": {"layer1": 3.2}}
                        field.getValue()
                                .properties()
                                .forEach(e -> row.put(name + "/" + e.getKey(), text(e.getValue())));
                    } else {
                        row.put(name, text(field.getValue()));
                    }
                }
            } catch (JacksonException e) {
                leaveOut(number, "", "no JSON: " + Strict.reason(e));
                continue;
            }
            row.keySet().forEach(name -> columns.add(quantity(name)));
            spread(number, row);
        }
    }

    private static String text(JsonNode node) {
        return node.isNull() ? "" : node.isString() ? node.asString() : node.toString();
    }

    /** A long row as it is; a wide one as one row per matrix. */
    private void spread(long line, Map<String, String> cells) {
        String step = cells.getOrDefault(STEP, "");
        if (!step.matches("\\d{1,18}(\\.0*)?")) {
            leaveOut(line, STEP, step.isEmpty() ? "there is none" : "'" + step + "' is not a step");
            return;
        }
        Map<String, Map<String, Double>> wide = new LinkedHashMap<>();
        Map<String, Double> shared = new LinkedHashMap<>();
        cells.forEach((column, text) -> {
            String quantity = quantity(column);
            if (NUMBERS.contains(quantity) && !text.isEmpty()) {
                Map<String, Double> numbers = quantity.equals(column)
                        ? shared
                        : wide.computeIfAbsent(column.substring(quantity.length() + 1), m -> new LinkedHashMap<>());
                numbers.put(quantity, number(line, column, text));
            }
        });
        if (wide.isEmpty()) {
            String matrix = cells.getOrDefault(MATRIX, "");
            wide.put(matrix.isEmpty() ? "all" : matrix, new LinkedHashMap<>());
        }
        wide.forEach((matrix, numbers) -> {
            shared.forEach(numbers::putIfAbsent);
            if (!numbers.containsValue(null)) {
                rows.accept(new Row(line, (long) Double.parseDouble(step), matrix, numbers));
            }
        });
    }

    /** Null where it is none, which is told. */
    private Double number(long line, String column, String text) {
        try {
            return Double.parseDouble(text);
        } catch (NumberFormatException e) {
            leaveOut(line, column, "'" + text + "' is not a number");
            return null;
        }
    }

    /** The column's name without its matrix. */
    private static String quantity(String column) {
        int slash = column.indexOf('/');
        return slash < 0 ? column : column.substring(0, slash);
    }

    /** People use several names for the same thing. */
    private static String known(String name) {
        String column = name.strip(), quantity = quantity(column), lower = quantity.toLowerCase(Locale.ROOT);
        String known = switch (lower) {
            case "lr", "learning_rate" -> "rate";
            case "wd", "weight_decay" -> "decay";
            case "name", "param", "parameter", "layer" -> MATRIX;
            case "iteration", "iter" -> STEP;
            default -> lower;
        };
        return known + column.substring(quantity.length());
    }
}
