package crooked.lab.report;

import crooked.lab.command.Command;
import crooked.lab.experiment.Experiment;

/** Knows what is reported on, and who asked for it. */
public record Report(Experiment experiment, Command command) {}
