package hypertransfer.lab.command.option;

import hypertransfer.core.Mode;
import hypertransfer.train.network.Dialect;
import hypertransfer.train.network.Preset;
import java.util.Arrays;
import java.util.Iterator;
import picocli.CommandLine;

/** Options whose values have names: how they are read, and the names for the help. */
public final class Labels {
    private Labels() {}

    /** Lets all subcommands read them. */
    public static void in(CommandLine line) {
        line.registerConverter(Mode.class, Mode::parse);
        line.registerConverter(Dialect.class, Dialect::parse);
        line.registerConverter(Preset.class, Preset::parse);
    }

    public static final class Modes implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return Arrays.stream(Mode.values()).map(Mode::label).iterator();
        }
    }

    public static final class Dialects implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return Arrays.stream(Dialect.values()).map(Dialect::label).iterator();
        }
    }

    public static final class Presets implements Iterable<String> {
        @Override
        public Iterator<String> iterator() {
            return Arrays.stream(Preset.values()).map(Preset::label).iterator();
        }
    }
}
