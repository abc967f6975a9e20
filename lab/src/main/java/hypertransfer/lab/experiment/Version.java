package hypertransfer.lab.experiment;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** @param commit the commit it was built from, with "-dirty" if files were changed, "unknown" outside a git checkout */
public record Version(String number, String commit) {
    /** What the build wrote beside this class. */
    public static Version built() {
        var p = new Properties();
        try (InputStream in = Version.class.getResourceAsStream("version.properties")) {
            p.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Version(p.getProperty("version"), p.getProperty("commit"));
    }

    @Override
    public String toString() {
        return "HyperTransfer " + number + " (commit " + commit + ")";
    }
}
