package hypertransfer.train.log;

import hypertransfer.core.Refusal;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Steps of a stored run, with what they were trained with: settings that were changed later have the values that they had
 * before, and the span ends where they were changed.
 *
 * @param c for another folder: paths are as the run has them, and no gap is shown
 * @param open the keys that may be others than those of the checkpoint
 * @param back the keys that were set back
 */
public record Span(Run run, Configuration c, int from, int to, Set<String> open, Set<String> back) {
    /** What can be set back: no data and files, which have a colon, and no key of a group that was not there before. */
    private static final Pattern BEFORE =
            Pattern.compile("(?!matrices[.]groups[.]\\S+ was null)([^ :]+) was (.*), is .*");

    /** What follows from other settings, or from another machine. */
    private static final Pattern FOLLOWS = Pattern.compile("(the machine|matrices[.]gradient): .*");

    /**
     * @param from a step that the run can be taken up from
     * @param asked other settings, such as another engine
     */
    public static Span of(Run run, int from, int to, List<String> asked) {
        Set<String> open = new HashSet<>(), back = new HashSet<>();
        open.add("engine"); // another machine may have other vectors: that is the question
        List<String> settings = new ArrayList<>(List.of("target=null"));
        int end = to;
        for (Run.Change change : run.changes().reversed()) {
            int step = change.step();
            for (String what : step < from ? new String[0] : change.what().split("; ")) {
                Matcher value = BEFORE.matcher(what);
                if (step == from) {
                    open.add(what.replaceFirst("[ :].*", ""));
                } else if (value.matches()) {
                    back.add(value.group(1));
                    settings.add(value.group(1) + "=" + value.group(2));
                    end = Math.min(end, step);
                } else if (!FOLLOWS.matcher(what).matches()) {
                    throw new Refusal(run.directory() + " was changed at step " + step + " (" + what
                            + "), which cannot be set back; name --from " + step + " or a later step");
                }
            }
        }
        settings.addAll(asked);
        return new Span(run, standing(run, settings), from, end, open, back);
    }

    private static Configuration standing(Run run, List<String> settings) {
        Configuration c = ConfigurationFile.with(run.configuration(), settings.toArray(String[]::new));
        return run.named(c.from().run())
                .map(found -> found.directory().toAbsolutePath().toString())
                .map(place -> ConfigurationFile.with(c, ConfigurationFile.text("from.run", place)))
                .orElse(c);
    }
}
