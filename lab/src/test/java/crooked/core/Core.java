package crooked.core;

import crooked.engine.Engine;
import picocli.CommandLine;

/** Knows a module of ours, and a library. */
public record Core(Engine engine, CommandLine library) {}
