package hypertransfer.lab.experiment;

import hypertransfer.core.Refusal;
import hypertransfer.engine.provider.Engines;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.log.Hold;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.Trainer;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * Trains one run in its directory, with its lines on a writer.
 *
 * @param brief whether the tables of memory and routing are left out, as for one run of many
 */
public record Launch(Path directory, Configuration configuration, boolean resume, boolean brief, PrintWriter out) {

    /** Trains; returns whether the last step was reached, or the run was interrupted before. */
    public boolean run(BooleanSupplier stop) {
        Configuration c = chosen();
        try (Hold held = hold(c)) {
            StepLine line = new StepLine(out, c, Width.terminal(), Width.here(), brief);
            out.println("run " + directory);
            try {
                return new Trainer(held, c, provenance(), line).run(resume, stop);
            } finally {
                line.end();
            }
        }
    }

    /** With the engine that {@code auto} stands for here: a resumed run must not find another. */
    private Configuration chosen() {
        if (!configuration.engine().equals("auto")) {
            return configuration;
        }
        String engine = Engines.choose("auto");
        out.println("engine " + engine + ": the first of " + Engines.order() + " that works here");
        return ConfigurationFile.with(configuration, "engine=" + engine);
    }

    private Hold hold(Configuration c) {
        if (!resume || !new Run(directory).begun()) {
            return Hold.create(directory, c);
        }
        resumable(directory, c);
        return Hold.open(directory);
    }

    /**
     * The configuration that a run was begun with. It must be the one now asked for; where that leaves the engine to be
     * chosen, the engine chosen before stays.
     */
    public static Configuration resumable(Path directory, Configuration asked) {
        Configuration before = new Run(directory).configuration();
        Configuration now =
                asked.engine().equals("auto") ? ConfigurationFile.with(asked, "engine=" + before.engine()) : asked;
        List<String> old = ConfigurationFile.write(before).lines().toList();
        List<String> fresh = ConfigurationFile.write(now).lines().toList();
        for (int i = 0; i < fresh.size(); i++) {
            if (i >= old.size() || !old.get(i).equals(fresh.get(i))) {
                throw new Refusal(directory + " was started with another configuration (now "
                        + fresh.get(i).strip() + "); continue it as it is with 'ht train " + directory
                        + " --resume', or choose another --out");
            }
        }
        return before;
    }

    private static Map<String, String> provenance() {
        Version version = Version.built();
        Machine machine = Machine.here();
        Map<String, String> provenance = new LinkedHashMap<>();
        provenance.put("version", version.number());
        provenance.put("commit", version.commit());
        provenance.put("jdk", machine.jdk());
        provenance.put("os", machine.os());
        provenance.put("machine", machine.architecture());
        provenance.put("cores", Integer.toString(machine.cores()));
        provenance.put("started", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
        return provenance;
    }
}
