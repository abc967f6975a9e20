package hypertransfer.train.data.text;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Atomic;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.Channels;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;

/**
 * A file of text to tokenize; its name says whether it is JSON Lines, and whether it is compressed.
 *
 * @param file null for the standard input
 */
public record Input(Path file, long size) {
    private static final List<String> KINDS = List.of(".txt", ".md", ".jsonl", ".txt.gz", ".md.gz", ".jsonl.gz");

    /** The files a place stands for, in a fixed order: a file itself, a directory's texts at any depth by name. */
    public static List<Input> find(String place) {
        if (place.equals("-")) {
            return List.of(new Input(null, 0));
        }
        Path path = Path.of(place);
        if (Files.isRegularFile(path)) {
            return List.of(of(path));
        }
        Atomic.requireRegular(path);
        if (!Files.isDirectory(path)) {
            throw new Refusal("there is no file or directory " + place + " to tokenize");
        }
        try (Stream<Path> walk = Files.walk(path)) {
            List<Input> found = walk.filter(
                            file -> Files.isRegularFile(file) && KINDS.stream().anyMatch(name(file)::endsWith))
                    .sorted()
                    .map(Input::of)
                    .toList();
            if (found.isEmpty()) {
                throw new Refusal("no text in the directory " + place + "; its files should end with one of " + KINDS
                        + ", or be named one by one");
            }
            return found;
        } catch (IOException e) {
            throw new Refusal("cannot list the directory " + place + ": " + Atomic.reason(e), e);
        }
    }

    private static Input of(Path file) {
        return new Input(file, file.toFile().length());
    }

    private static String name(Path file) {
        return file.getFileName().toString().toLowerCase(Locale.ROOT);
    }

    public String source() {
        return file == null ? "the standard input" : file.toString();
    }

    /** The bytes of the file itself, before they are decompressed; null for the standard input. */
    public SeekableByteChannel open() throws IOException {
        return file == null ? null : Files.newByteChannel(file);
    }

    public Documents documents(SeekableByteChannel bytes) throws IOException {
        InputStream in = bytes == null ? System.in : Channels.newInputStream(bytes);
        String name = file == null ? "" : name(file);
        boolean packed = name.endsWith(".gz");
        InputStream plain = packed ? new GZIPInputStream(in, 1 << 16) : in;
        boolean json = name.endsWith(".jsonl") || name.endsWith(".jsonl.gz");
        return new Documents(source(), plain, json, Documents.PIECE);
    }
}
