package hypertransfer.lab.terminal;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.IHelpSectionRenderer;
import picocli.CommandLine.Model.UsageMessageSpec;

/** The commands in the help, by what they are for. */
public final class Groups implements IHelpSectionRenderer {
    private static final int NAME = 15; // the width of the first column
    private static final Map<String, List<String>> GROUPS = new LinkedHashMap<>();

    static {
        GROUPS.put("Start", List.of("demo", "doctor", "new", "presets"));
        GROUPS.put("Train", List.of("train", "transfer", "sweep", "reproduce", "data"));
        GROUPS.put("Look", List.of("runs", "report", "watch", "compare", "diff", "sample", "export"));
        GROUPS.put("Answers without a run", List.of("predict", "rates", "effective", "schedule", "invariance"));
        GROUPS.put("Verify", List.of("selftest", "conformance", "bench"));
        GROUPS.put("Other", List.of("clean", "completion", "help"));
    }

    private Groups() {}

    /** Lists a command's subcommands so. */
    public static void in(CommandLine line) {
        line.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING, help -> "");
        line.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST, new Groups());
    }

    /** The group of every command; what is in none would be missing from the help. */
    public static List<String> commands() {
        return GROUPS.values().stream().flatMap(List::stream).toList();
    }

    @Override
    public String render(Help help) {
        StringBuilder text = new StringBuilder();
        GROUPS.forEach((group, commands) -> {
            text.append(System.lineSeparator())
                    .append(help.colorScheme().ansi().string("@|bold " + group + "|@"))
                    .append(System.lineSeparator());
            for (String command : commands) {
                Help of = help.subcommands().get(command);
                String[] about = of.commandSpec().usageMessage().description();
                text.append(String.format(
                        "  %s%s%n",
                        help.colorScheme().commandText(command),
                        pad(command) + fold(about.length == 0 ? "" : first(about[0]), help)));
            }
        });
        return text.toString();
    }

    private static String pad(String command) {
        return " ".repeat(Math.max(1, NAME - 2 - command.length()));
    }

    /** The first sentence says what a command is for. */
    private static String first(String about) {
        int end = about.indexOf(". ");
        return end < 0 ? about : about.substring(0, end + 1);
    }

    private static String fold(String text, Help help) {
        int columns = help.commandSpec().usageMessage().width() - NAME;
        StringBuilder lines = new StringBuilder();
        int room = columns;
        for (String word : text.split(" ")) {
            if (word.length() + 1 > room) {
                lines.append(System.lineSeparator()).append(" ".repeat(NAME));
                room = columns;
            } else if (!lines.isEmpty()) {
                lines.append(' ');
                room--;
            }
            lines.append(word);
            room -= word.length();
        }
        return lines.toString();
    }
}
