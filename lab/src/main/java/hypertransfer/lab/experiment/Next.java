package hypertransfer.lab.experiment;

import hypertransfer.core.Space;
import hypertransfer.core.Transfer;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.RunStatus;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;

/** What to do next, as commands that can be copied. */
public final class Next {
    private Next() {}

    public static String trained(Path run, Configuration c) {
        Map<String, String> commands = new LinkedHashMap<>();
        commands.put("ht report " + word(run), "its curves as a page");
        commands.put("ht sample " + word(run), "text from it");
        Transfer transfer = c.matrices().transfer();
        if (transfer.isPlain()) {
            String mode = (transfer.target() instanceof Space.Hyperball ? "inverse-" : "") + "hypertransfer"
                    + (c.architecture().invariant() ? "" : "-plus");
            commands.put("ht transfer " + word(run) + " --mode " + mode, "the same losses in the other space");
        }
        return list(commands);
    }

    public static String shown() {
        Map<String, String> commands = new LinkedHashMap<>();
        commands.put("ht train runs/muon.yaml", "a run of your own");
        commands.put("ht rates runs/muon.yaml --to muonh", "the rate that MuonH needs");
        commands.put("ht transfer out/muon --mode hypertransfer", "the same losses in the other space");
        return list(commands);
    }

    public static String transferred(Path target, Path run) {
        Map<String, String> commands = new LinkedHashMap<>();
        commands.put("ht report " + word(target) + " " + word(run), "both as a page");
        commands.put("ht compare " + word(target) + " " + word(run), "where they differ, if they do");
        return list(commands);
    }

    public static String stopped(Path run) {
        RunStatus now = new Run(run).status();
        return "saved at step %d of %d in %s; run the same command again to continue, or: ht train %s%n"
                .formatted(now.step(), now.steps(), run, word(run));
    }

    public static String again(Path directory) {
        return "stopped; what was trained is in %s; run the same command again to continue%n".formatted(directory);
    }

    private static String list(Map<String, String> commands) {
        int width = commands.keySet().stream().mapToInt(String::length).max().orElseThrow();
        StringBuilder text = new StringBuilder();
        commands.forEach((command, what) -> text.append(text.isEmpty() ? "next: " : "      ")
                .append(width > 60 ? command : ("%-" + width + "s   # %s").formatted(command, what))
                .append(System.lineSeparator()));
        return text.toString();
    }

    /** A path or a setting as a shell takes it. */
    public static String word(Object value) {
        String text = value.toString();
        return text.matches("[A-Za-z0-9_./=:@%+-]+") ? text : "'" + text.replace("'", "'\\''") + "'";
    }
}
