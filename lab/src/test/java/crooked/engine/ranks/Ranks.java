package crooked.engine.ranks;

import crooked.engine.cuda.Cuda;

/** Knows an engine, instead of being known by it. */
public record Ranks(Cuda engine) {}
