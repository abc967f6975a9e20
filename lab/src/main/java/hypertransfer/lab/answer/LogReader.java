package hypertransfer.lab.answer;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Strict;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.zip.GZIPInputStream;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/**
 * Reads a log of someone else's run, row by row: .csv (comma, semicolon or tab) or .jsonl, also .gz; long, one row per
 * step and matrix, or wide, one row per step with columns such as {@code weight_norm/layer1}.
 */
record LogReader(Path file, Problems problems, Consumer<LogReader.Row> rows) {
    static final String STEP = "step";
    static final String MATRIX = "matrix";
    /** The numbers of a row. */
    static final List<String> NUMBERS =
            List.of("weight_norm", "direction_norm", "update_norm", "inner_product", "rate", "decay");

    /** One matrix at one step; what the log does not say is NaN. */
    record Row(long line, long step, String matrix, Map<String, Double> numbers) {
        double number(String column) {
            return numbers.getOrDefault(column, Double.NaN);
        }
    }

    /** Reads to the end, and returns the names of the columns that were met. */
    Set<String> read() {
        if (!Files.isRegularFile(file)) {
            throw new Refusal(file + " is not a file; give a log as .csv or .jsonl, also with .gz");
        }
        try (BufferedReader in = open()) {
            String first = in.readLine();
            while (first != null && first.isBlank()) {
                first = in.readLine();
            }
            if (first == null) {
                throw new Refusal(file + " is empty; its first line must name the columns, such as"
                        + " step,matrix,weight_norm,update_norm,rate,decay");
            }
            return first.stripLeading().startsWith("{") ? json(first, in) : csv(first, in);
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
        return new BufferedReader(new InputStreamReader(plain, StandardCharsets.UTF_8), 1 << 16);
    }

    private Set<String> csv(String header, BufferedReader in) throws IOException {
        String clean = header.startsWith("\ufeff") ? header.substring(1) : header;
        char separator = clean.indexOf('\t') >= 0 ? '\t' : clean.indexOf(';') >= 0 ? ';' : ',';
        List<String> columns =
                split(clean, separator).stream().map(LogReader::known).toList();
        Set<String> seen = new LinkedHashSet<>(columns);
        if (seen.size() < columns.size()) {
            throw new Refusal(file + " line 1 names a column twice: " + columns + "; give each a name of its own");
        }
        long number = 1;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            number++;
            if (line.isBlank()) {
                continue;
            }
            List<String> cells = split(line, separator);
            if (cells.size() != columns.size()) {
                problems.add(number, "", cells.size() + " cells instead of " + columns.size());
                continue;
            }
            Map<String, String> row = new LinkedHashMap<>();
            for (int i = 0; i < cells.size(); i++) {
                row.put(columns.get(i), cells.get(i).strip());
            }
            spread(number, row);
        }
        return quantities(seen);
    }

    private Set<String> json(String first, BufferedReader in) throws IOException {
        Set<String> seen = new LinkedHashSet<>();
        long number = 0;
        for (String line = first; line != null; line = in.readLine()) {
            number++;
            if (line.isBlank()) {
                continue;
            }
            JsonNode node;
            try {
                node = JsonMapper.shared().readTree(line);
            } catch (JacksonException e) {
                problems.add(number, "", "no JSON: " + Strict.reason(e));
                continue;
            }
            Map<String, String> row = new LinkedHashMap<>();
            for (Map.Entry<String, JsonNode> field : node.properties()) {
                String name = known(field.getKey());
                if (field.getValue().isObject()) { // {"weight_norm": {"layer1": 3.2}}
                    field.getValue().properties().forEach(e -> row.put(name + "/" + e.getKey(), text(e.getValue())));
                } else {
                    row.put(name, text(field.getValue()));
                }
            }
            seen.addAll(row.keySet());
            spread(number, row);
        }
        return quantities(seen);
    }

    private static String text(JsonNode node) {
        return node.isNull() ? "" : node.isString() ? node.asString() : node.toString();
    }

    /** A long row as it is; a wide one as a row per matrix. */
    private void spread(long line, Map<String, String> cells) {
        Long step = step(line, cells.get(STEP));
        if (step == null) {
            return;
        }
        Map<String, Map<String, Double>> wide = new LinkedHashMap<>();
        Map<String, Double> shared = new LinkedHashMap<>();
        for (Map.Entry<String, String> cell : cells.entrySet()) {
            int slash = cell.getKey().indexOf('/');
            String quantity = slash < 0 ? cell.getKey() : cell.getKey().substring(0, slash);
            if (!NUMBERS.contains(quantity) || cell.getValue().isEmpty()) {
                continue;
            }
            double value;
            try {
                value = Double.parseDouble(cell.getValue());
            } catch (NumberFormatException e) {
                problems.add(line, cell.getKey(), "'" + cell.getValue() + "' is not a number");
                value = Double.NaN;
            }
            if (slash < 0) {
                shared.put(quantity, value);
            } else {
                wide.computeIfAbsent(cell.getKey().substring(slash + 1), m -> new LinkedHashMap<>())
                        .put(quantity, value);
            }
        }
        if (wide.isEmpty()) {
            String matrix = cells.getOrDefault(MATRIX, "");
            rows.accept(new Row(line, step, matrix.isEmpty() ? "all" : matrix, shared));
        }
        wide.forEach((matrix, numbers) -> {
            shared.forEach(numbers::putIfAbsent);
            rows.accept(new Row(line, step, matrix, numbers));
        });
    }

    private Long step(long line, String text) {
        try {
            double step = text == null ? Double.NaN : Double.parseDouble(text);
            if (step >= 0 && step == Math.rint(step)) {
                return (long) step;
            }
        } catch (NumberFormatException e) {
            // named below, with all other steps that are none
        }
        problems.add(line, STEP, text == null ? "there is none" : "'" + text + "' is not a step");
        return null;
    }

    /** The columns without their matrices. */
    private static Set<String> quantities(Set<String> columns) {
        Set<String> names = new LinkedHashSet<>();
        columns.forEach(c -> names.add(c.indexOf('/') < 0 ? c : c.substring(0, c.indexOf('/'))));
        return names;
    }

    /** Names that people use for the same thing. */
    private static String known(String name) {
        String head = name.strip();
        String rest = "";
        int slash = head.indexOf('/');
        if (slash >= 0) {
            rest = head.substring(slash);
            head = head.substring(0, slash);
        }
        return switch (head.toLowerCase(Locale.ROOT)) {
            case "lr", "learning_rate" -> "rate" + rest;
            case "wd", "weight_decay" -> "decay" + rest;
            case "name", "param", "parameter", "layer" -> MATRIX + rest;
            case "iteration", "iter" -> STEP + rest;
            default -> head.toLowerCase(Locale.ROOT) + rest;
        };
    }

    /** Cells; a quoted one may hold the separator, and two quotes for one. */
    private static List<String> split(String line, char separator) {
        if (line.indexOf('"') < 0) {
            return Arrays.asList(line.split(java.util.regex.Pattern.quote(String.valueOf(separator)), -1));
        }
        List<String> cells = new ArrayList<>();
        StringBuilder cell = new StringBuilder();
        boolean quoted = false;
        for (int i = 0; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '"') {
                if (quoted && i + 1 < line.length() && line.charAt(i + 1) == '"') {
                    cell.append(c);
                    i++;
                } else {
                    quoted = !quoted;
                }
            } else if (c == separator && !quoted) {
                cells.add(cell.toString());
                cell.setLength(0);
            } else {
                cell.append(c);
            }
        }
        cells.add(cell.toString());
        return cells;
    }
}
