package crooked.engine.cuda;

/** Knows nothing. */
public record Cuda() {}
