package hypertransfer.lab.terminal;

import java.io.PrintWriter;
import java.io.Writer;

/** Text for a terminal: a line that is too long is continued below. Commands stay whole, so that they can be copied. */
final class Folding extends Writer {
    private static final int INDENT = 4;

    private final PrintWriter out;
    private final Width width;
    private final StringBuilder line = new StringBuilder();

    Folding(PrintWriter out, Width width) {
        this.out = out;
        this.width = width;
    }

    @Override
    public void write(char[] text, int from, int count) {
        for (int i = from; i < from + count; i++) {
            if (text[i] == '\n') {
                out.println(shown());
                line.setLength(0);
            } else if (text[i] != '\r') {
                line.append(text[i]);
            }
        }
    }

    private String shown() {
        return line.toString().matches("(next: | +)ht .*") ? line.toString() : width.fold(line.toString(), INDENT);
    }

    @Override
    public void flush() {
        out.flush();
    }

    @Override
    public void close() {
        out.print(shown());
        out.flush();
    }
}
