package crooked.engine.cuda.driver;

import crooked.engine.cuda.Cuda;

/** Knows the engine that it serves. */
public record Driver(Cuda cuda) {}
