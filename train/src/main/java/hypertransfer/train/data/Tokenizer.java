package hypertransfer.train.data;

import hypertransfer.core.Refusal;
import hypertransfer.train.SplitMix;
import hypertransfer.train.data.text.Documents;
import hypertransfer.train.data.text.Input;
import hypertransfer.train.data.text.Piece;
import hypertransfer.train.data.text.Vocabulary;
import hypertransfer.train.file.Atomic;
import java.io.EOFException;
import java.io.IOException;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.List;
import java.util.OptionalLong;
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
     * What is kept for validation.
     *
     * @param share of documents, chosen by a hash of the document's place in the input
     * @param fewest tokens; where the documents give fewer, the end of the training text is taken instead
     */
    public record Held(double share, long fewest) {
        public Held {
            if (!(share >= 0 && share < 1)) {
                throw new Refusal("the validation share is " + share + "; it must be at least 0 and below 1");
            }
        }
    }

    /**
     * @param field the field of a line of JSON that holds the text
     * @param skip whether a line that cannot be read is left out and counted; else it ends all
     * @param shuffle the seed by which documents change places; empty: they keep the order of the input
     * @param shardTokens tokens in a shard
     * @param force whether shards of the same name are replaced
     */
    public record Options(
            Vocabulary vocabulary,
            String field,
            boolean skip,
            Held held,
            OptionalLong shuffle,
            long shardTokens,
            boolean force,
            int threads) {
        public Options {
            if (shardTokens < 1 || shardTokens > Integer.MAX_VALUE) {
                throw new Refusal("shards of " + shardTokens + " tokens are not possible; 1 to " + Integer.MAX_VALUE
                        + " fit the header");
            }
            if (threads < 1) {
                throw new Refusal("--threads must be at least 1, not " + threads);
            }
        }
    }

    /**
     * How far tokenizing is.
     *
     * @param read bytes of the input files read, compressed as they are
     * @param total bytes of all input files; 0 where unknown
     * @param text bytes of text tokenized
     */
    public record Progress(long read, long total, long text, long documents, long tokens) {}

    /** Shards of a split, and how many tokens they have together. */
    public record Written(List<Path> files, long tokens) {}

    /**
     * What was written.
     *
     * @param moved the tokens of validation that are the end of the training text
     * @param skipped lines that were left out
     * @param firstSkipped why, of the first of them; null where there is none
     */
    public record Result(
            long documents, Written train, Written validation, long moved, long skipped, String firstSkipped) {}

    private record Pending(Future<Piece.Outcome> outcome, int bytes) {}

    private final Options options;
    private final Path directory;
    private final ShardWriter train;
    private final ShardWriter validation;
    private final Commit commit;
    private final Queue<Pending> pending = new ArrayDeque<>();
    private final Spool spool; // null where documents keep their order
    private ShardWriter writer; // of the current document
    private long documents;
    private long text;
    private long skipped;
    private String firstSkipped;

    /** Gives the shards of a process that was killed while it did so their names; false where there is none. */
    public static boolean finish(Path directory) {
        if (!Commit.pending(directory)) {
            return false;
        }
        Commit.hold(directory, name(directory)).close();
        return true;
    }

    private static String name(Path directory) {
        Path last = directory.toAbsolutePath().normalize().getFileName();
        return last == null ? "data" : last.toString();
    }

    /** Shards go to the directory, which is made, and are called after it. */
    public Tokenizer(Path directory, Options options) {
        this.options = options;
        this.directory = directory;
        String name = name(directory);
        this.train = new ShardWriter(directory, name, Split.TRAIN, options.shardTokens);
        this.validation = new ShardWriter(directory, name, Split.VALIDATION, options.shardTokens);
        commit = Commit.hold(directory, name);
        try {
            List<Path> existing = ShardWriter.existing(directory, name);
            if (!existing.isEmpty() && !options.force) {
                throw new Refusal(
                        "there are shards already (" + existing.getFirst() + (existing.size() > 1 ? ", ..." : "")
                                + "); choose another --out, or replace them with --force");
            }
            spool = options.shuffle.isPresent() ? new Spool(directory) : null;
        } catch (RuntimeException e) {
            commit.close();
            throw e;
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
            if (spool != null) {
                spool.shuffled(options.shuffle.getAsLong(), this::write);
            }
            if (train.count() == 0) {
                throw new Refusal(
                        documents == 0
                                ? "there is no text in " + places + "; nothing was written"
                                : "all " + documents + " documents were assigned to validation; lower --validation");
            }
            train.finish();
            long moved = hold();
            validation.finish();
            Written first, second;
            synchronized (commit) {
                first = new Written(train.files(), train.count());
                second = new Written(validation.files(), validation.count());
                commit.write(Stream.concat(first.files.stream(), second.files.stream())
                        .toList());
            }
            return new Result(documents, first, second, moved, skipped, firstSkipped);
        } finally {
            pool.shutdownNow();
        }
    }

    private void read(Input input, ExecutorService pool, long before, long total, Consumer<Progress> progress) {
        try (SeekableByteChannel in = input.open();
                Documents pieces = input.documents(in)) {
            for (Piece piece = pieces.next(); piece != null; piece = pieces.next()) {
                Piece next = piece;
                pending.add(new Pending(
                        pool.submit(() -> next.tokenize(options.vocabulary, options.field, options.skip)),
                        next.bytes().length));
                if (pending.size() > AHEAD * options.threads) {
                    writeNext();
                    long here = in == null ? 0 : in.position();
                    progress.accept(new Progress(before + here, total, text, documents, count()));
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
            Piece.Outcome outcome = next.outcome.get();
            for (Piece.Ids ids : outcome.documents()) {
                documents += ids.opens() ? 1 : 0;
                if (spool == null) {
                    write(documents - 1, ids.opens(), ids.ids());
                } else {
                    spool.write(ids.opens(), ids.ids());
                }
            }
            text += next.bytes;
            firstSkipped = skipped == 0 && !outcome.skipped().isEmpty()
                    ? outcome.skipped().getFirst()
                    : firstSkipped;
            skipped += outcome.skipped().size();
        } catch (ExecutionException e) {
            throw e.getCause() instanceof Refusal refusal ? refusal : new IllegalStateException(e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Refusal("tokenizing for " + directory + " was interrupted; nothing was written", e);
        }
    }

    private void write(long document, boolean opens, int... ids) {
        if (opens) {
            writer = SplitMix.uniform(document, 0) < options.held.share ? validation : train;
            writer.write(options.vocabulary.separator);
        }
        writer.write(ids);
    }

    /** Keeps the end of the training text for validation where documents gave too little; returns how much. */
    private long hold() {
        Held held = options.held;
        if (held.share == 0 || validation.count() >= held.fewest) {
            return 0;
        }
        long wanted = Math.max(held.fewest, (long) Math.ceil(held.share * count())), move = wanted - validation.count();
        if (train.count() - move < held.fewest) {
            throw new Refusal("the text has " + count() + " tokens in all, and training and validation need at least "
                    + held.fewest + " each, one micro-batch of the smallest preset; add text, or write no validation"
                    + " shard with --validation 0; nothing was written");
        }
        validation.write(options.vocabulary.separator);
        train.moveEnd(move - 1, validation);
        return move;
    }

    /** Removes what is not finished; safe at any time, from any thread. A commit that has begun is finished first. */
    @Override
    public void close() {
        synchronized (commit) {
            try (commit;
                    spool;
                    validation) { // each is closed whatever happens to the others
                train.close();
            }
        }
    }
}
