package hypertransfer.lab.command;

import hypertransfer.core.Refusal;
import hypertransfer.train.data.text.Vocabulary;
import hypertransfer.train.log.Run;
import hypertransfer.train.run.TrainedNetwork;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

@Command(
        name = "sample",
        description = "Continues a text with the network of a run's newest good checkpoint.",
        footer = {
            "  ht sample out/muon",
            "  ht sample out/muon --prompt 'Fellow citizens, '",
            "  ht sample out/muon --prompt 'The ' --tokens 500 --temperature 0.5 --seed 7",
            "",
            "The same seed gives the same text. Temperature 0 takes the likeliest token.",
            "A run that was trained in fp8 is sampled in its engine's own precision."
        })
public final class SampleCommand implements Runnable {
    @Spec
    private CommandSpec spec;

    @Parameters(paramLabel = "RUN", description = "A run with a checkpoint.")
    private Path run;

    @Option(
            names = "--prompt",
            paramLabel = "TEXT",
            description = "The beginning of the text (default: none, a new document begins).")
    private String prompt = "";

    @Option(names = "--tokens", paramLabel = "N", description = "Number of tokens to add (default: ${DEFAULT-VALUE}).")
    private int tokens = 200;

    @Option(
            names = "--temperature",
            paramLabel = "T",
            description = "Spread of the draws, 0 or more (default: ${DEFAULT-VALUE}).")
    private double temperature = 0.8;

    @Option(
            names = "--top-k",
            paramLabel = "K",
            description = "Draw only from the K likeliest tokens; 0: from all (default).")
    private int topK;

    @Option(names = "--seed", paramLabel = "N", description = "Seed of the draws (default: ${DEFAULT-VALUE}).")
    private long seed = 1;

    @Override
    public void run() {
        if (tokens < 0 || topK < 0 || !(temperature >= 0 && temperature < Double.POSITIVE_INFINITY)) {
            throw new Refusal("--tokens is " + tokens + ", --top-k " + topK + ", --temperature " + temperature
                    + "; all must be finite, zero or more");
        }
        PrintWriter out = spec.commandLine().getOut();
        try (TrainedNetwork network =
                TrainedNetwork.load(new Run(run), warning -> out.println("warning: " + warning))) {
            sample(network, out);
        }
    }

    private void sample(TrainedNetwork network, PrintWriter out) {
        int vocab = network.configuration().model().vocab();
        Vocabulary words = vocab == Vocabulary.BYTES.size ? Vocabulary.BYTES : Vocabulary.GPT2;
        List<Integer> context = new ArrayList<>(List.of(words.separator)); // as before every document
        Arrays.stream(words.encode(prompt)).forEach(context::add);
        for (int id : context) {
            if (id >= vocab) {
                throw new Refusal("the prompt has token " + id + ", and " + run + " has a vocabulary of " + vocab
                        + ", which is neither bytes (256) nor GPT-2's (50257 or more)");
            }
        }
        out.print(prompt);
        List<Integer> pending = new ArrayList<>(); // tokens that may end in the middle of a character
        Random random = new Random(seed);
        for (int i = 0; i < tokens; i++) {
            int next = choose(Arrays.copyOf(network.logits(context), Math.min(vocab, words.size)), random);
            if (next == words.separator) { // the document ends
                break;
            }
            context.add(next);
            pending.add(next);
            String text = text(words, pending);
            if (!text.endsWith("\ufffd") || pending.size() > 4) {
                out.print(text);
                out.flush();
                pending.clear();
            }
        }
        out.println(text(words, pending));
        out.flush();
    }

    private static String text(Vocabulary words, List<Integer> ids) {
        return words.decode(ids.stream().mapToInt(Integer::intValue).toArray());
    }

    /** Draws from softmax(logits / temperature) over the likeliest few. */
    private int choose(double[] logits, Random random) {
        double[] sorted = logits.clone();
        Arrays.sort(sorted);
        double largest = sorted[sorted.length - 1];
        double least = topK == 0 || topK >= sorted.length ? sorted[0] : sorted[sorted.length - topK];
        double[] weights = Arrays.stream(logits)
                .map(l -> l < least
                        ? 0
                        : temperature == 0 ? (l == largest ? 1 : 0) : Math.exp((l - largest) / temperature))
                .toArray();
        double left = random.nextDouble() * Arrays.stream(weights).sum();
        int last = 0;
        for (int id = 0; id < weights.length && left >= 0; id++) {
            if (weights[id] > 0) {
                last = id;
                left -= weights[id];
            }
        }
        return last;
    }
}
