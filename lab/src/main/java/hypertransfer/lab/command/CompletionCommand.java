package hypertransfer.lab.command;

import java.io.PrintWriter;
import picocli.AutoComplete;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "completion",
        description = "Prints a script that lets a shell complete commands and options.",
        footer = {
            "  ht completion bash > ~/.ht-completion; echo '. ~/.ht-completion' >> ~/.bashrc",
            "  ht completion zsh > ~/.ht-completion; echo '. ~/.ht-completion' >> ~/.zshrc",
            "",
            "It completes 'ht' and './ht'."
        })
public final class CompletionCommand implements Runnable {
    private enum Shell {
        bash,
        zsh
    }

    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "SHELL", description = "One of ${COMPLETION-CANDIDATES}.")
    private Shell shell;

    @Override
    public void run() {
        PrintWriter out = spec.commandLine().getOut();
        if (shell == Shell.zsh) { // which runs scripts for bash once these are loaded
            out.println("autoload -U +X compinit && compinit");
            out.println("autoload -U +X bashcompinit && bashcompinit");
        }
        out.println(AutoComplete.bash("ht", spec.root().commandLine()));
        out.println("complete -F _complete_ht -o default ./ht");
    }
}
