package hypertransfer.train.network;

import hypertransfer.engine.Dims;
import hypertransfer.engine.Engine;
import hypertransfer.engine.Format;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.engine.Tensor;
import hypertransfer.engine.provider.Engines;
import hypertransfer.train.network.Parameters.Masters;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;

/**
 * The gradient that an engine computes against finite differences of the loss, which the reference engine takes for every
 * single number at the weights that the engine holds.
 *
 * @param dims the sizes of the network
 * @param error the length of the difference over the length of the differences' gradient
 * @param largest the largest number of the differences' gradient, which tells a gradient from none
 */
public record Differences(Dims dims, String parameter, double error, double largest) {
    private static final double STEP = 1e-5;

    /** Tiny networks that have each choice at least once, by a name for people. */
    public static Map<String, Architecture> networks() {
        Map<String, Architecture> networks = new LinkedHashMap<>();
        Nonlinearity gelu = Nonlinearity.GELU, swiglu = Nonlinearity.SWIGLU;
        Design.Positions rotary = Design.Positions.ROTARY, learned = Design.Positions.LEARNED;
        Design.Norm rms = Design.Norm.RMS, layer = Design.Norm.LAYER;
        for (Architecture network : List.of(
                tiny(Variant.M1, Design.PAPER),
                tiny(Variant.M2, Design.PAPER),
                tiny(Variant.M1, new Design(gelu, 0, 0, 2, true, rotary, layer, true, false, false)),
                tiny(Variant.M1, new Design(swiglu, 5, 1, 0, false, rotary, layer, true, false, true)),
                tiny(Variant.M2, new Design(swiglu, 0, 1, 3, true, rotary, layer, true, false, false)),
                tiny(Variant.M2, new Design(gelu, 0, 0, 0, false, learned, layer, false, true, true)), // GPT-2
                tiny(Variant.M2, new Design(gelu, 0, 0, 0, false, Design.Positions.NONE, layer, true, true, true)),
                tiny(Variant.M2, new Design(swiglu, 0, 1, 0, false, rotary, rms, false, false, false)))) { // Llama
            networks.put(network.label(), network);
        }
        return networks;
    }

    private static Architecture tiny(Variant variant, Design design) {
        return new Architecture(variant, design, 7, 1, 8, 4, 4);
    }

    /** For every parameter of such a network. */
    public static List<Differences> of(Function<Dims, Engine> open, Architecture tiny) {
        Random random = new Random(11);
        int[] inputs = random.ints(8, 0, 7).toArray(),
                targets = random.ints(8, 0, 7).toArray();
        try (Engine engine = open.apply(tiny.dims(2));
                Engine oracle = Engines.open("reference", tiny.dims(2))) {
            Parameters mine = new Parameters(engine, tiny, Masters.SHARED);
            Parameters theirs = new Parameters(oracle, tiny, Masters.SHARED);
            Network network = new Network(engine, tiny, mine, 1, false);
            Network other = new Network(oracle, tiny, theirs, 1, false);
            engine.commit();
            oracle.commit();
            for (int p = 0; p < mine.all().size(); p++) {
                Parameter parameter = mine.all().get(p);
                Tensor master = parameter.master(), weight = parameter.weight();
                engine.write(master, random.doubles(master.size(), -0.5, 0.5).toArray());
                if (parameter.separate()) {
                    engine.motion().represent(List.of(master), new double[] {1}, Format.FULL_GRID, List.of(weight));
                }
                oracle.write(theirs.all().get(p).weight(), engine.read(weight));
            }
            engine.zero(mine.gradients());
            network.gradient(inputs, targets);
            List<Differences> all = new ArrayList<>();
            for (int p = 0; p < mine.all().size(); p++) {
                double[] met = engine.read(mine.all().get(p).gradient());
                double[] expected =
                        differences(oracle, other, theirs.all().get(p).weight(), inputs, targets);
                all.add(compared(engine.dims(), mine.all().get(p).name(), met, expected));
            }
            return all;
        }
    }

    private static double[] differences(Engine oracle, Network network, Tensor weight, int[] inputs, int[] targets) {
        double[] weights = oracle.read(weight), gradient = new double[weights.length];
        for (int i = 0; i < weights.length; i++) {
            double w = weights[i];
            weights[i] = w + STEP;
            oracle.write(weight, weights);
            double above = network.loss(inputs, targets);
            weights[i] = w - STEP;
            oracle.write(weight, weights);
            gradient[i] = (above - network.loss(inputs, targets)) / (2 * STEP);
            weights[i] = w;
        }
        oracle.write(weight, weights);
        return gradient;
    }

    private static Differences compared(Dims dims, String name, double[] met, double[] expected) {
        double distance = 0, length = 0, largest = 0;
        for (int i = 0; i < met.length; i++) {
            distance += Math.pow(met[i] - expected[i], 2);
            length += expected[i] * expected[i];
            largest = Math.max(largest, Math.abs(expected[i]));
        }
        return new Differences(dims, name, Math.sqrt(distance / length), largest);
    }

    /** What an engine whose weights have this format must reach; the differences themselves are good to 1e-8 or so. */
    public boolean accepted(Format weights) {
        return error
                <= switch (weights) {
                    case FLOAT64 -> 1e-6;
                    case FLOAT32 -> 1e-4;
                    case BF16 -> 0.1;
                    case FP8 -> 0.3;
                };
    }
}
