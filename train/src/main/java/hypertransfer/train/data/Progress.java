package hypertransfer.train.data;

/**
 * How far tokenizing is.
 *
 * @param read bytes of the input files read, compressed as they are
 * @param total bytes of all input files; 0 where unknown
 * @param text bytes of text tokenized
 */
public record Progress(long read, long total, long text, long documents, long tokens) {}
