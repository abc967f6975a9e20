package hypertransfer.lab;

import hypertransfer.lab.terminal.Exit;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.UncheckedIOException;

/** Standard output, which remembers why an answer could not be written; a print writer tells nobody. */
final class Answer extends FilterOutputStream {
    private IOException failure;

    Answer(OutputStream out) {
        super(out);
    }

    @Override
    public void write(byte[] bytes, int from, int count) throws IOException {
        try {
            out.write(bytes, from, count);
        } catch (IOException e) {
            failure = e;
            throw e;
        }
    }

    /** The exit code of a command. One that succeeded has failed if its answer is lost; a reader may have had enough. */
    int checked(int exit, PrintWriter err) {
        if (exit != Exit.FINE || failure == null || "Broken pipe".equals(failure.getMessage())) {
            return exit;
        }
        err.println("ht: cannot write the answer to standard output: " + failure.getMessage());
        err.flush();
        return Exit.of(new UncheckedIOException(failure));
    }
}
