package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.data.text.Documents;
import hypertransfer.train.data.text.Input;
import hypertransfer.train.data.text.Piece;
import hypertransfer.train.data.text.Vocabulary;
import hypertransfer.train.file.Atomic;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Text to shards, on as many threads as asked for. One thread reads pieces and writes their ids in the order they were
 * read; the others tokenize. So the shards do not depend on the number of threads, and only a few pieces are in memory.
 */
public final class Tokenizer implements AutoCloseable {
    private static final int AHEAD = 4; // pieces a thread may have waiting

    /**
     * @param validation the share of documents kept for validation, chosen by a hash of the document's place in the input
     * @param shardTokens tokens in a shard
     * @param force whether shards of the same name are replaced
     */
    public record Options(Vocabulary vocabulary, double validation, long shardTokens, boolean force, int threads) {
        public Options {
            if (!(validation >= 0 && validation < 1)) {
                throw new Refusal(
                        "a validation share of " + validation + " is not possible; it is at least 0, below 1");
            }
            if (shardTokens < 1 || shardTokens > Integer.MAX_VALUE) {
                throw new Refusal("shards of " + shardTokens + " tokens are not possible; 1 to " + Integer.MAX_VALUE
                        + " fit the header");
            }
            if (threads < 1) {
                throw new Refusal("--threads must be at least 1, not " + threads);
            }
        }
    }

    /** What was written. */
    public record Result(
            long documents, List<Path> train, long trainTokens, List<Path> validation, long validationTokens) {}

    private record Pending(Future<List<Piece.Ids>> ids, int bytes) {}

    private final Options options;
    private final Path directory;
    private final ShardWriter train;
    private final ShardWriter validation;
    private final Commit commit;
    private final Queue<Pending> pending = new ArrayDeque<>();
    private ShardWriter writer; // of the current document
    private long documents;
    private long text;

    /** Shards go to the directory, which is made, and are called after it. */
    public Tokenizer(Path directory, Options options) {
        this.options = options;
        this.directory = directory;
        Path last = directory.toAbsolutePath().normalize().getFileName();
        String name = last == null ? "data" : last.toString();
        this.train = new ShardWriter(directory, name, Split.TRAIN, options.shardTokens);
        this.validation = new ShardWriter(directory, name, Split.VALIDATION, options.shardTokens);
        commit = Commit.hold(directory, name);
        List<Path> existing = new ArrayList<>();
        for (Split split : Split.values()) {
            existing.addAll(ShardWriter.existing(directory, name, split));
        }
        if (!existing.isEmpty() && !options.force) {
            commit.close();
            throw new Refusal("there are shards already (" + existing.getFirst() + (existing.size() > 1 ? ", ..." : "")
                    + "); choose another --out, or replace them with --force");
        }
    }

    /**
     * Tokenizes files, directories, or the standard input ("-"), in that order. Either all shards are there afterwards,
     * or none.
     */
    public Result run(List<String> places, Consumer<Progress> progress) {
        ExecutorService pool = Executors.newFixedThreadPool(options.threads);
        try (this) {
            List<Input> inputs =
                    places.stream().flatMap(place -> Input.find(place).stream()).toList();
            long total = inputs.stream().mapToLong(Input::size).sum(), read = 0;
            train.sweep();
            validation.sweep();
            for (Input input : inputs) {
                read(input, pool, read, total, progress);
                read += input.size();
            }
            while (!pending.isEmpty()) {
                writeNext();
                progress.accept(new Progress(total, total, text, documents, count()));
            }
            if (train.count() == 0) {
                throw new Refusal(
                        documents == 0
                                ? "there is no text in " + places + "; nothing was written"
                                : "all " + documents + " documents were assigned to validation; lower --validation");
            }
            train.finish();
            validation.finish();
            List<Path> first = train.files(), second = validation.files();
            commit.write(Stream.concat(first.stream(), second.stream()).toList());
            return new Result(documents, first, train.count(), second, validation.count());
        } finally {
            pool.shutdownNow();
        }
    }

    private void read(Input input, ExecutorService pool, long before, long total, Consumer<Progress> progress) {
        try (Input.Counted in = input.open();
                Documents pieces = input.documents(in)) {
            for (Piece piece = pieces.next(); piece != null; piece = pieces.next()) {
                Piece next = piece;
                pending.add(new Pending(pool.submit(() -> next.tokenize(options.vocabulary)), next.bytes().length));
                if (pending.size() > AHEAD * options.threads) {
                    writeNext();
                    progress.accept(new Progress(before + in.count(), total, text, documents, count()));
                }
            }
        } catch (EOFException e) {
            throw new Refusal(input.source() + " is cut off; fetch it again", e);
        } catch (IOException e) {
            throw new Refusal("cannot read " + input.source() + ": " + Atomic.reason(e), e);
        }
    }

    private long count() {
        return train.count() + validation.count();
    }

    private void writeNext() {
        Pending next = pending.remove();
        try {
            for (Piece.Ids ids : next.ids.get()) {
                if (ids.opens()) {
                    writer = isValidation(documents++) ? validation : train;
                    writer.write(options.vocabulary.separator());
                }
                writer.write(ids.ids());
            }
            text += next.bytes;
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Refusal refusal ? refusal : new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Refusal("tokenizing for " + directory + " was interrupted; nothing was written", e);
        }
    }

    private boolean isValidation(long document) {
        return (Permutation.mix(document) >>> 11) * 0x1p-53 < options.validation;
    }

    /** Removes what is not finished; safe at any time, from any thread. */
    @Override
    public void close() {
        train.close();
        validation.close();
        commit.close();
    }
}
