package hypertransfer.lab.command.option;

import hypertransfer.core.Mode;
import hypertransfer.train.network.Dialect;
import hypertransfer.train.network.Preset;
import java.util.Arrays;
import java.util.Iterator;
import picocli.CommandLine.ITypeConverter;

/** Options whose values have names: how they are read, and the names for the help. */
public final class Labels {
    private Labels() {}

    public static final class Modes implements ITypeConverter<Mode>, Iterable<String> {
        @Override
        public Mode convert(String label) {
            return Mode.parse(label);
        }

        @Override
        public Iterator<String> iterator() {
            return Arrays.stream(Mode.values()).map(Mode::label).iterator();
        }
    }

    public static final class Dialects implements ITypeConverter<Dialect>, Iterable<String> {
        @Override
        public Dialect convert(String label) {
            return Dialect.parse(label);
        }

        @Override
        public Iterator<String> iterator() {
            return Arrays.stream(Dialect.values()).map(Dialect::label).iterator();
        }
    }

    public static final class Presets implements ITypeConverter<Preset>, Iterable<String> {
        @Override
        public Preset convert(String label) {
            return Preset.parse(label);
        }

        @Override
        public Iterator<String> iterator() {
            return Arrays.stream(Preset.values()).map(Preset::label).iterator();
        }
    }
}
