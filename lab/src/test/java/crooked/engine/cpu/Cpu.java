package crooked.engine.cpu;

import crooked.engine.cuda.Cuda;

/** Knows another engine. */
public record Cpu(Cuda other) {}
