package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.terminal.Exit;
import hypertransfer.lab.terminal.Size;
import hypertransfer.lab.terminal.Width;
import hypertransfer.train.file.Atomic;
import hypertransfer.train.file.Folder;
import hypertransfer.train.log.Hold;
import hypertransfer.train.log.Run;
import hypertransfer.train.log.Standing.State;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/** {@code ht clean}: removes what can be made again, and runs only where they are named. */
@Command(
        name = "clean",
        description = {
            "Removes what can be made again: pages of 'ht report', and what killed processes left half written.",
            "It lists everything and asks first. Runs stay, unless an option says otherwise."
        },
        footer = {
            "  ht clean",
            "  ht clean out --checkpoints    of finished runs, all but the newest",
            "  ht clean out --failed --yes   also runs that failed or never began",
            "  ht clean --run out/old        one run",
            "  ht clean --json               the list only; with --yes these are removed"
        })
public final class CleanCommand implements Callable<Integer> {
    @Parameters(
            paramLabel = "DIR",
            arity = "0..1",
            defaultValue = "out",
            description = "Where to look (default: ${DEFAULT-VALUE}).")
    private Path directory;

    @Option(names = "--checkpoints", description = "Remove checkpoints of finished runs too, except each run's newest.")
    private boolean checkpoints;

    @Option(names = "--failed", description = "Remove runs too that failed or never began.")
    private boolean failed;

    @Option(names = "--run", paramLabel = "RUN", description = "Remove only this run; may be repeated.")
    private List<Path> named = List.of();

    @Option(names = "--yes", description = "Do not ask.")
    private boolean yes;

    @Mixin
    private JsonOption json;

    private record Row(String path, long bytes, String why) {}

    private final Map<Path, String> found = new LinkedHashMap<>(); // what to remove, and why

    @Override
    public Integer call() throws IOException {
        PrintWriter out = json.out();
        if (named.isEmpty()) {
            search();
        } else {
            named.forEach(this::run);
        }
        List<Row> rows = new ArrayList<>();
        for (Map.Entry<Path, String> entry : found.entrySet()) {
            rows.add(new Row(entry.getKey().toString(), size(entry.getKey()), entry.getValue()));
        }
        long total = rows.stream().mapToLong(Row::bytes).sum();
        json.either(
                rows,
                words -> rows.forEach(row -> words.printf("%10s  %s (%s)%n", Size.of(row.bytes), row.path, row.why)));
        boolean agreed = yes || !json.only && !rows.isEmpty() && agreed(total, out);
        if (agreed) {
            found.keySet()
                    .forEach(path -> Atomic.told("remove", path, () -> {
                        Folder.delete(path);
                        return null;
                    }));
        }
        if (!json.only) {
            out.println(
                    rows.isEmpty()
                            ? "nothing to remove in " + directory
                            : agreed ? "removed " + Size.of(total) : "nothing was removed");
        }
        return Exit.FINE;
    }

    private boolean agreed(long total, PrintWriter out) {
        out.print("remove these " + found.size() + ", " + Size.of(total) + "? [y/N] ");
        out.flush();
        String typed = Width.terminal() ? System.console().readLine() : null; // null too where the input ends
        if (typed == null) {
            out.println();
            throw new Refusal("there is no terminal to ask on; nothing was removed: give --yes to remove these");
        }
        return typed.strip().equalsIgnoreCase("y") || typed.strip().equalsIgnoreCase("yes");
    }

    private void search() throws IOException {
        List<Run> runs = Run.under(directory, unreadable -> {});
        for (Run run : runs) {
            if (Hold.held(run.directory())) {
                continue;
            }
            State state = run.standing().state();
            if (failed && (state == State.FAILED || state == State.NOT_BEGUN)) {
                found.put(run.directory(), "a run, " + state.label());
            } else if (checkpoints && state == State.FINISHED) {
                run.checkpoints().stream().skip(1).forEach(this::checkpoint);
            }
        }
        try (Stream<Path> files = Files.walk(directory, Run.DEPTH + 2)) {
            for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
                if (found.keySet().stream().noneMatch(file::startsWith) && !held(file)) {
                    if (file.toString().endsWith(".part")) {
                        found.put(file, "half written");
                    } else if (file.toString().endsWith(".html") && page(file)) {
                        found.put(file, "a page; 'ht report' makes it again");
                    }
                }
            }
        }
    }

    /** Whether the file belongs to a run that is being written. */
    private boolean held(Path file) {
        for (Path at = file.getParent(); at != null && at.startsWith(directory); at = at.getParent()) {
            if (Run.in(at)) {
                return Hold.held(at);
            }
        }
        return false;
    }

    private void checkpoint(Path numbers) {
        found.put(numbers, "an older checkpoint");
        Path tensors =
                numbers.resolveSibling(numbers.getFileName().toString().replaceFirst("\\.json$", ".safetensors"));
        if (Files.exists(tensors)) {
            found.put(tensors, "an older checkpoint");
        }
    }

    private void run(Path path) {
        if (!Run.in(path)) {
            throw new Refusal(path + " is not a run; 'ht runs' lists the runs there are");
        }
        if (Hold.held(path)) {
            throw new Refusal(path + " is being trained by another process; stop that first");
        }
        found.put(path, "a run, " + new Run(path).standing().state().label());
    }

    private static boolean page(Path file) throws IOException {
        try (Stream<String> lines = Files.lines(file)) {
            return lines.limit(20).anyMatch(line -> line.contains("<title>HyperTransfer</title>"));
        } catch (UncheckedIOException e) { // not text
            return false;
        }
    }

    private static long size(Path path) throws IOException {
        try (Stream<Path> files = Files.walk(path)) {
            long size = 0;
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                size += Files.size(file);
            }
            return size;
        }
    }
}
