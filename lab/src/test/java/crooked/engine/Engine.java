package crooked.engine;

import crooked.core.Core;

/** Knows core. */
public record Engine(Core core) {}
