package hypertransfer.lab.command.option;

import hypertransfer.engine.provider.Engines;
import picocli.CommandLine.Option;

/** {@code --engine}, for the commands that examine one. */
public final class EngineOption {
    @Option(
            names = "--engine",
            paramLabel = "NAME",
            defaultValue = "auto",
            description = "reference, cpu, cuda, cuda-float32, or auto: the best that works (default).")
    private String name;

    /** The name of an engine that works here. */
    public String chosen() {
        return Engines.choose(name);
    }
}
