package hypertransfer.lab.terminal;

import java.util.List;
import java.util.Map;
import picocli.CommandLine;
import picocli.CommandLine.Help;
import picocli.CommandLine.IHelpSectionRenderer;
import picocli.CommandLine.Model.UsageMessageSpec;

/** The commands in the help, by what they are for. */
public record CommandGroups(Map<String, List<String>> groups) implements IHelpSectionRenderer {
    private static final int NAME = 15; // the width of the first column

    /** Lists a command's subcommands so. */
    public static void in(CommandLine line, Map<String, List<String>> groups) {
        line.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST_HEADING, help -> "");
        line.getHelpSectionMap().put(UsageMessageSpec.SECTION_KEY_COMMAND_LIST, new CommandGroups(groups));
    }

    @Override
    public String render(Help help) {
        StringBuilder text = new StringBuilder();
        groups.forEach((group, commands) -> {
            text.append(System.lineSeparator())
                    .append(help.colorScheme().ansi().string("@|bold " + group + "|@"))
                    .append(System.lineSeparator());
            for (String command : commands) {
                Help of = help.subcommands().get(command);
                String about = command.equals("help")
                        ? "Shows the help of a command."
                        : of.commandSpec().usageMessage().description()[0].split("(?<=\\.) ")[0]; // one sentence
                text.append("  ")
                        .append(help.colorScheme().commandText(command))
                        .append(" ".repeat(Math.max(1, NAME - 2 - command.length())));
                text.append(fold(about, help)).append(System.lineSeparator());
            }
        });
        return text.toString();
    }

    private static String fold(String text, Help help) {
        Width width = new Width(help.commandSpec().usageMessage().width() + 1);
        return width.fold(" ".repeat(NAME) + text, NAME).strip();
    }
}
