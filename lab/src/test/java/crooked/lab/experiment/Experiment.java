package crooked.lab.experiment;

import crooked.lab.command.Command;

/** Knows who asked for it. */
public record Experiment(Command command) {}
