package hypertransfer.train.golden;

import hypertransfer.core.Refusal;
import hypertransfer.train.file.Folder;
import hypertransfer.train.file.SafeTensors;
import hypertransfer.train.file.Strict;
import hypertransfer.train.network.Architecture;
import hypertransfer.train.network.Variant;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.json.JsonMapper;

/** Trajectories that another implementation computed, and what they start from. */
public record Golden(Sizes sizes, Map<String, double[]> tensors) {
    /** The JSON file. */
    public record Sizes(
            Variant network,
            int vocab,
            int layers,
            int dim,
            int headDim,
            int seq,
            int batch,
            int steps,
            double normEps,
            double firstLoss,
            List<Case> cases) {}

    /** One trajectory: how it was made, and what must come out. */
    public record Case(
            String direction,
            String mode,
            double rate,
            double adamRate,
            double finalRatio,
            double warmup,
            double decay,
            Double targetDecay,
            List<Double> losses,
            Map<String, Track> matrices) {
        public String label() {
            return direction + " " + mode;
        }
    }

    /** One hidden matrix, one number per step. */
    public record Track(List<Double> norm, List<Double> targetNorm, List<Double> rate, List<Double> effective) {}

    private static final JsonMapper JSON = Strict.strict(JsonMapper.builder())
            .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
            .build();

    /** Every NAME.json with its NAME.safetensors in a directory, by name. */
    public static List<Golden> readAll(Path directory) {
        if (!Files.isDirectory(directory)) {
            throw new Refusal(
                    directory + " is not a directory; give one that holds golden M1.json, M1.safetensors, ...");
        }
        List<Path> files = Folder.list(directory, "*.json");
        if (files.isEmpty()) {
            throw new Refusal(directory + " holds no .json file; a golden directory has M1.json, M1.safetensors, ...");
        }
        return files.stream().map(Golden::read).toList();
    }

    private static Golden read(Path json) {
        String name = json.getFileName().toString().replaceFirst("\\.json$", "");
        Sizes sizes = Strict.read(JSON, json, Sizes.class, "a golden trajectory");
        Path file = json.resolveSibling(name + ".safetensors");
        Golden golden = new Golden(sizes, new HashMap<>());
        try (SafeTensors tensors = SafeTensors.read(file)) {
            tensors.names().forEach(tensor -> golden.tensors.put(tensor, tensors.values(tensor)));
        }
        golden.check(json);
        return golden;
    }

    private void check(Path json) {
        if (sizes.network == null || sizes.cases == null || sizes.cases.isEmpty() || sizes.cases.contains(null)) {
            throw new Refusal(json + " is not a golden trajectory: it has no network or no cases");
        }
        if (IntStream.of(sizes.vocab, sizes.layers, sizes.dim, sizes.headDim, sizes.seq, sizes.batch, sizes.steps)
                .anyMatch(size -> size < 1)) {
            throw new Refusal(json + " is not a golden trajectory: every size must be one or more");
        }
        for (Case c : sizes.cases) {
            boolean complete = c.direction != null
                    && c.mode != null
                    && whole(c.losses)
                    && c.matrices != null
                    && c.matrices.values().stream()
                            .allMatch(t -> t != null
                                    && Stream.of(t.norm, t.targetNorm, t.rate, t.effective)
                                            .allMatch(this::whole));
            if (!complete) {
                throw new Refusal(
                        json + ": case " + c.label() + " does not have " + sizes.steps + " numbers per series");
            }
        }
        if (values("tokens").length != sizes.steps * (sizes.batch * sizes.seq + 1)) {
            throw new Refusal(json + ": its tokens are not " + sizes.steps + " rows of batch x sequence + 1");
        }
    }

    private boolean whole(List<Double> series) {
        return series != null && series.size() == sizes.steps && !series.contains(null);
    }

    public Architecture architecture() {
        return new Architecture(sizes.network, sizes.vocab, sizes.layers, sizes.dim, sizes.headDim, sizes.seq);
    }

    /** The tokens of a step: its inputs are all but the last, its targets all but the first. */
    public int[] tokens(int step) {
        int n = sizes.batch * sizes.seq + 1;
        return Arrays.stream(values("tokens"), step * n, (step + 1) * n)
                .mapToInt(token -> (int) token)
                .toArray();
    }

    public double[] values(String name) {
        double[] values = tensors.get(name);
        if (values == null) {
            throw new Refusal("golden " + sizes.network + ".safetensors has no tensor " + name);
        }
        return values;
    }
}
