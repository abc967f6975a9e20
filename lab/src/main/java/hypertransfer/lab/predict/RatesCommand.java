package hypertransfer.lab.predict;

import hypertransfer.core.Mode;
import hypertransfer.core.Refusal;
import hypertransfer.core.Schedule.Shaped;
import hypertransfer.core.Space;
import hypertransfer.lab.command.option.JsonOption;
import hypertransfer.lab.command.option.Options;
import hypertransfer.lab.experiment.Experiment;
import hypertransfer.lab.experiment.Next;
import hypertransfer.lab.terminal.StepLine;
import hypertransfer.lab.terminal.Table;
import hypertransfer.prediction.Fitted;
import hypertransfer.prediction.Horizon;
import hypertransfer.prediction.Prediction;
import hypertransfer.prediction.Translation;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.config.ConfigurationFile;
import hypertransfer.train.config.Matrices;
import hypertransfer.train.log.Run;
import hypertransfer.train.network.Outline;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "rates",
        description =
                "Carries tuned rates over to another optimizer, weight decay, shape factor, width or number of steps.",
        footer = {
            "  ht rates runs/muon.yaml --to muonh              peak angle and final ratio",
            "  ht rates runs/muonh.yaml --to muon --with matrices.decay=0.1",
            "  ht rates runs/muon.yaml --with matrices.decay=0.3     the same curve",
            "  ht rates runs/muon.yaml --to adamw",
            "  ht rates runs/muon.yaml --with model.width=256",
            "  ht rates runs/muon.yaml --with steps=100        by the horizon law",
            "",
            "The answer is one rate and one final ratio for all matrices; each group of",
            "matrices.groups has its own. error: by how much the effective rates then differ",
            "from the wanted ones, rms over matrices and steps. The prediction's own error",
            "comes on top.",
            "",
            "We checked this by training (docs/RESULTS.md). At 49M and the paper's 5,723",
            "steps, runs at carried rates (Muon to MuonH and back on M1 and M2, and to weight",
            "decay 0.3) end 0.002 below to 0.004 above those of a grid of full-length runs.",
            "Another number of steps multiplies rates, angles and weight decays (AdamW's too)",
            "by k = sqrt(tuned steps / steps). With m times the tokens per step and the same",
            "number of tokens in all, k is sqrt(m), the square root rule. At 1,430 and 610",
            "steps instead of 5,723 (M2, 49M) Muon's effective rates were k times the tuned",
            "run's within 12 and 22 %% rms. At 610 steps k was right for MuonH's rate, and at",
            "least twice too large for Muon's."
        })
public final class RatesCommand implements Runnable {
    @Parameters(paramLabel = "CONFIG", description = "The configuration with the tuned rates, or a run's directory.")
    private Path file;

    @Mixin
    private Options.Settings set;

    @Option(names = "--to", paramLabel = "OPTIMIZER", description = "muon, muonh, adamw or adamh.")
    private String to;

    @Option(
            names = "--with",
            paramLabel = "KEY=VALUE",
            description = "A key with another value in the run to carry the rates to; may be repeated.")
    private List<String> with = List.of();

    @Mixin
    private JsonOption json;

    record Row(String kind, double effectivePeak, double endToPeak, double rate, double finalRatio, double error) {}

    /** One pair for matrices that are treated alike. */
    record Group(String pattern, Double rate, Double finalRatio, Double error) {}

    /** The JSON line; without groups the pair is that of all matrices, with groups it is null and each has its own. */
    record Answer(
            String from,
            String to,
            Double rate,
            Double finalRatio,
            Double error,
            List<Row> kinds,
            List<Group> groups,
            Map<String, Double> horizon,
            Fitted.Error nearest) {}

    /**
     * Matrices of one kind that both configurations treat alike.
     *
     * @param whole whether they are all of their kind
     * @param from the kind in the tuned run
     * @param to the same matrices in the other run
     */
    private record Part(boolean whole, PredictedKind from, PredictedKind to, List<Outline> matrices) {
        String name() {
            return PredictedKind.name(matrices, whole);
        }

        /** As a pattern of {@code matrices.groups}: the kind where it is whole, else names. */
        Stream<String> patterns() {
            return whole ? Stream.of(name()) : matrices.stream().map(Outline::name);
        }

        Row row() {
            Translation.Pair own = pair(List.of(this));
            Shaped pair = own.schedule();
            Prediction p = from.target();
            return new Row(name(), p.peak(), p.finalToPeak(), pair.peak(), pair.finalRatio(), own.error());
        }
    }

    @Override
    public void run() {
        new Run(file).tellChanges(json::warn);
        Configuration tuned = Experiment.at(file, set.settings);
        ConfigurationFile.check("--with", with);
        if (to == null && with.isEmpty()) {
            throw new Refusal("say where to carry the rates, such as --to muonh or --with matrices.decay=0.3");
        }
        for (String setting : with) {
            if (setting.matches("matrices\\.(.*\\.)?(rate|final_ratio) *=.*")) {
                throw new Refusal("--with " + setting + ": the rate and the final ratio are the answer; omit it,"
                        + " or change the tuned run's with --set");
            }
            if (setting.matches("preset *=.*")) {
                throw new Refusal(
                        "--with " + setting + ": the other run keeps all keys that are not named; give those in"
                                + " which it differs, such as --with model.width=256");
            }
            if (to != null && setting.matches("matrices\\.(direction|mode) *=.*")) {
                throw new Refusal("--to " + to + " says what --with " + setting + " says; omit one of them");
            }
        }
        List<String> changes =
                Stream.concat(optimizer().stream(), with.stream()).toList();
        Horizon law = new Horizon(
                tuned.steps(),
                ConfigurationFile.with(tuned, changes.toArray(String[]::new)).steps());
        Map<String, Double> horizon = carried(tuned, law);
        List<String> length = new ArrayList<>(List.of("steps=" + law.to()));
        horizon.forEach((key, value) -> length.add(key + "=" + value));
        Configuration from = ConfigurationFile.with(tuned, length.toArray(String[]::new));
        Configuration other = ConfigurationFile.with(from, changes.toArray(String[]::new));
        horizon.keySet()
                .removeIf(
                        key -> key.equals("matrices.decay") && other.matrices().mode() == Mode.HYPERBALL
                                || changes.stream().anyMatch(change -> change.startsWith(key + "=")));
        List<List<Part>> alike = alike(from, other);
        boolean one = alike.size() == 1;
        List<Row> rows = new ArrayList<>();
        List<Group> groups = new ArrayList<>();
        List<String> next = new ArrayList<>(set.settings);
        length.removeIf(setting -> !horizon.containsKey(setting.split("=")[0]) || setting.matches("matrices.*rate=.*"));
        next.addAll(length); // without what was asked for, and the rates, which are the pair's
        next.addAll(changes);
        next.addAll(tuned.target() == null ? List.of() : List.of("target=null")); // at other rates it follows nothing
        next.addAll(tuned.from().run() == null ? List.of() : List.of("from.run=null")); // predicted from the first step
        for (List<Part> parts : alike) {
            parts.forEach(part -> rows.add(part.row()));
            Translation.Pair best = pair(parts);
            double rate = best.schedule().peak(), finalRatio = best.schedule().finalRatio();
            boolean common = parts.getFirst().from.settings().equals(from.matrices());
            String pattern =
                    parts.stream().flatMap(Part::patterns).distinct().sorted().collect(Collectors.joining("|"));
            groups.add(new Group(one ? "all" : common ? "rest" : pattern, rate, finalRatio, best.error()));
            String key = common ? "matrices." : "matrices.groups." + pattern + ".";
            next.add("%srate=%.4g".formatted(key, rate));
            next.add("%sfinal_ratio=%.4f".formatted(key, finalRatio));
        }
        Map<String, String> once = new LinkedHashMap<>(); // of a key its last value
        next.forEach(setting -> once.put(setting.split("=")[0].strip(), setting));
        Group all = one ? groups.getFirst() : new Group(null, null, null, null);
        String was = PredictedKind.describe(tuned), is = PredictedKind.describe(other);
        Answer answer = new Answer(
                was,
                is,
                all.rate,
                all.finalRatio,
                all.error,
                rows,
                groups,
                horizon,
                PredictCommand.error(from, other).orElse(null));
        json.either(answer, out -> {
            print(out, answer, tuned);
            PredictCommand.told(from, other).ifPresent(out::println);
            PredictedKind first = alike.getFirst().getFirst().to;
            double memory =
                    1 / (1 - first.expected().memory().terms().getFirst().decay());
            if (law.to() < law.from() && first.settings().curve().warmup() * law.to() < memory) {
                out.printf("note: the warm-up is shorter than the momentum's memory, which stays %.0f steps%n", memory);
            }
            double tokens = (double) other.tokensPerStep() / tuned.tokensPerStep();
            if (tokens != 1 && law.from() == law.to()) {
                out.printf(
                        Locale.ROOT,
                        "note: %.4g times the tokens per step change no effective rate at the same number of steps, so the"
                                + " rates stay (but fewer wanted lower rates where we trained it, docs/RESULTS.md); for the same"
                                + " number of tokens in all, use --with steps=%d, which multiplies rates by %.4g%n",
                        tokens,
                        Math.max(1, Math.round(law.to() / tokens)),
                        Math.sqrt(tokens));
            }
            if (from.matrices().direction() != other.matrices().direction()) {
                out.println(
                        "another direction at the same effective rates: a place to start a search, not a tuned rate");
            }
            Path config = Files.isDirectory(file) ? file.resolve(Run.CONFIGURATION) : file;
            out.println("next: ht train " + Next.word(config)
                    + once.values().stream().map(s -> " --set " + Next.word(s)).collect(Collectors.joining())
                    + " --out " // without it the tuned run's
                    + Next.word(Options.Out.named(file, "-" + (to == null ? "carried" : to.toLowerCase(Locale.ROOT)))));
        });
    }

    private List<String> optimizer() {
        if (to == null) {
            return List.of();
        }
        return switch (to.toLowerCase(Locale.ROOT)) {
            case "muon" -> List.of("matrices.direction=muon", "matrices.mode=base");
            case "muonh" -> List.of("matrices.direction=muon", "matrices.mode=hyperball");
            case "adamw" -> List.of("matrices.direction=adam", "matrices.mode=base");
            case "adamh" -> List.of("matrices.direction=adam", "matrices.mode=hyperball");
            default ->
                throw new Refusal("unknown optimizer '" + to + "'; the optimizers are muon, muonh, adamw, adamh");
        };
    }

    /** The tuned run's keys that the horizon law changes, those of groups last, with seven digits of their values there. */
    private static Map<String, Double> carried(Configuration tuned, Horizon law) {
        Collection<Matrices> hidden = tuned.hidden().values();
        hidden.forEach(m -> law.check(m.rate(), m.transfer().target().decay()));
        Map<String, Double> values = new LinkedHashMap<>();
        if (law.from() == law.to()) {
            return values;
        }
        boolean two = hidden.stream().anyMatch(m -> m.mode() == Mode.DECAY_TRANSFER);
        String target = two ? "|target_decay" : "";
        String keys = "matrices\\.(groups\\..*\\.)?(rate|decay" + target + ")|adamw\\.(.*_)?(rate|decay)";
        Map<String, String> settings = ConfigurationFile.settings(tuned);
        settings.keySet().stream()
                .filter(key -> key.matches(keys) && !settings.get(key).equals("null"))
                .sorted(Comparator.comparing(key -> key.startsWith("matrices.groups.")))
                .forEach(key -> values.put(
                        key, Double.valueOf("%.7g".formatted(law.factor() * Double.parseDouble(settings.get(key))))));
        return values;
    }

    /** One entry for each set of matrices that are treated alike on both sides: one where there are no groups. */
    private static List<List<Part>> alike(Configuration from, Configuration to) {
        List<PredictedKind> others = PredictedKind.of(to);
        Map<List<Matrices>, List<Part>> alike = new LinkedHashMap<>();
        for (PredictedKind kind : PredictedKind.of(from)) {
            for (PredictedKind other : others) {
                // by name: another width has another shape
                Set<String> names = other.matrices().stream().map(Outline::name).collect(Collectors.toSet());
                List<Outline> shared = kind.matrices().stream()
                        .filter(m -> names.contains(m.name()))
                        .toList();
                if (!shared.isEmpty()) {
                    boolean whole = shared.size() == from.model().layers();
                    alike.computeIfAbsent(List.of(kind.settings(), other.settings()), both -> new ArrayList<>())
                            .add(new Part(whole, kind, other, shared));
                }
            }
        }
        return List.copyOf(alike.values());
    }

    /** The rates that serve all of them best. */
    private static Translation.Pair pair(List<Part> parts) {
        PredictedKind tuned = parts.getFirst().from, other = parts.getFirst().to;
        if (tuned.schedule().peak() == 0) { // frozen matrices stay so
            return new Translation.Pair(tuned.schedule(), 0);
        }
        List<Translation.Matrix> matrices = parts.stream()
                .map(p -> new Translation.Matrix(p.from.expected(), p.to.expected(), p.matrices.size()))
                .toList();
        Space from = tuned.settings().transfer().target(),
                to = other.settings().transfer().target();
        return Translation.pair(matrices, from, tuned.schedule(), to, other.schedule());
    }

    private static void print(PrintWriter out, Answer answer, Configuration from) {
        Shaped tuned = from.matrices().schedule(from.steps());
        String shape = from.matrices().curve().schedule().text();
        out.println("from " + answer.from + ": rate " + tuned.peak() + ", final ratio " + tuned.finalRatio() + ", "
                + shape + ", " + StepLine.count(tuned.steps(), "step"));
        out.println("to   " + answer.to);
        if (!answer.horizon.isEmpty()) {
            out.println("     by the horizon law: "
                    + answer.horizon.entrySet().stream().map(Object::toString).collect(Collectors.joining(", ")));
        }
        new Table<Row>()
                .column("kind", "%s", Row::kind)
                .column("peak eff.", "%10.5f", Row::effectivePeak)
                .column("end/peak", "%9.4f", Row::endToPeak)
                .column("rate", "%12.5f", Row::rate)
                .column("final ratio", "%.4f", Row::finalRatio)
                .column("error", "%7.1f%%", r -> 100 * r.error)
                .print(out, answer.kinds);
        new Table<Group>()
                .column("one pair for", "%s", Group::pattern)
                .column("rate", "%12.5f", Group::rate)
                .column("final ratio", "%.4f", Group::finalRatio)
                .column("error", "%7.1f%%", g -> 100 * g.error)
                .print(out, answer.groups);
    }
}
