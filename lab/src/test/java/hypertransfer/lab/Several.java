package hypertransfer.lab;

import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/** Several commands in one process, one per line of a file, each under its line and above its exit code. */
final class Several {
    static final String BEGINS = "### ", ENDS = "### exit ";

    private Several() {}

    public static void main(String[] args) throws Exception {
        PrintWriter out = new PrintWriter(System.out, true), err = new PrintWriter(System.err, true);
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            out.println(BEGINS + line);
            out.println(ENDS + Main.run(out, err, false, line.split(" ")));
        }
    }
}
