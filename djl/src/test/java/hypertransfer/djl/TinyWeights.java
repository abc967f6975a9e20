package hypertransfer.djl;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/**
 * A GPT's block without its attention, and data for it. Letters as in the engine: N tokens, C width, V vocabulary.
 *
 * @param values the first values by name; hidden matrices are {@code fc} (4C,C) and {@code proj} (C,4C)
 * @param inputs tokens, one row per step (N)
 * @param targets the tokens to predict
 */
record TinyWeights(Map<String, double[]> values, int[][] inputs, int[][] targets) {
    static final int N = 16;
    static final int C = 8;
    static final int D = 4;
    static final int V = 11;
    static final int BATCHES = 5;

    static TinyWeights seeded(long seed) {
        Random random = new Random(seed);
        Map<String, double[]> values = new LinkedHashMap<>();
        values.put("embed.weight", normal(random, V * C, 0.5));
        values.put("embed.gain", normal(random, C, 0.1));
        values.put("fc", normal(random, 4 * C * C, 1 / Math.sqrt(C)));
        values.put("proj", normal(random, 4 * C * C, 1 / Math.sqrt(4 * C)));
        values.put("mlp.gain", normal(random, C, 0.1));
        values.put("head.gain", new double[C]);
        values.put("head.weight", normal(random, V * C, 0.2));
        int[][] inputs = new int[BATCHES][N];
        int[][] targets = new int[BATCHES][N];
        for (int b = 0; b < BATCHES; b++) {
            for (int n = 0; n < N; n++) {
                inputs[b][n] = random.nextInt(V);
                targets[b][n] = (3 * inputs[b][n] + random.nextInt(2)) % V;
            }
        }
        return new TinyWeights(values, inputs, targets);
    }

    static int rows(String name) {
        return switch (name) {
            case "embed.weight", "head.weight" -> V;
            case "fc" -> 4 * C;
            case "proj" -> C;
            default -> 1;
        };
    }

    /** Rounded to float, so that engines of either precision start from the same numbers. */
    private static double[] normal(Random random, int size, double deviation) {
        double[] values = new double[size];
        for (int i = 0; i < size; i++) {
            values[i] = (float) (deviation * random.nextGaussian());
        }
        return values;
    }
}
