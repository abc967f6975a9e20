package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.report.Server;
import hypertransfer.lab.terminal.Exit;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "watch",
        description = "Serves the report live on this machine: curves grow as runs write them, new runs appear.",
        footer = {
            "  ht watch out",
            "  ht watch out/exp1-demo --port 0",
            "",
            "From another machine, first: ssh -L 8080:127.0.0.1:8080 THIS-MACHINE"
        })
public final class WatchCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "DIR", description = "A run, or a directory that has or will have runs in it.")
    private Path directory;

    @Option(
            names = "--port",
            paramLabel = "N",
            description = "The port on 127.0.0.1; 0 takes a free one (default: ${DEFAULT-VALUE}).")
    private int port = 8080;

    @Override
    public Integer call() throws InterruptedException {
        if (!Files.isDirectory(directory)) {
            throw new Refusal(
                    "there is no directory " + directory + "; give a run, or the directory runs are written to");
        }
        try (Server server = Server.open(directory, port)) {
            Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(server::close));
            PrintWriter out = spec.commandLine().getOut();
            out.println("watching " + directory + " at http://127.0.0.1:" + server.port() + "/  (Ctrl-C ends)");
            new CountDownLatch(1).await(); // until the process is told to end
        }
        return Exit.FINE;
    }
}
