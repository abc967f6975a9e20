package hypertransfer.train.network;

import hypertransfer.engine.Engine;
import hypertransfer.engine.Role;
import hypertransfer.engine.Tensor;
import java.util.ArrayList;
import java.util.List;

/** All parameters of a network, declared on an engine. The three matrices q, k, v of a block lie in one. */
public final class Parameters {

    /** One block's parameters; qkv is q, k and v one below the other. */
    record Block(Parameter qkv, Parameter attnGain, Parameter o, Parameter mlpGain, Parameter fc, Parameter proj) {}

    final Parameter embed;
    final Parameter embedGain;
    final List<Block> blocks = new ArrayList<>();
    final Parameter headGain;
    final Parameter head;
    private final Engine engine;
    private final Masters masters;
    private final List<Parameter> all = new ArrayList<>();

    public Parameters(Engine engine, Architecture architecture, Masters masters) {
        this.engine = engine;
        this.masters = masters;
        int C = architecture.width();
        embed = single("embed.weight", architecture.vocab(), C, false);
        embedGain = gain("embed.gain", C);
        for (int l = 0; l < architecture.layers(); l++) {
            String at = "blocks." + l + ".";
            Parameter qkv = declare(Role.WEIGHT, at + "attn.qkv.weight", 3 * C, C, true);
            int from = 0;
            for (String part : List.of("q", "k", "v")) {
                all.add(part(qkv, at + "attn." + part + ".weight", from, C));
                from += C;
            }
            blocks.add(new Block(
                    qkv,
                    gain(at + "attn.gain", C),
                    single(at + "attn.o.weight", C, C, true),
                    gain(at + "mlp.gain", C),
                    single(at + "mlp.fc.weight", 4 * C, C, true),
                    single(at + "mlp.proj.weight", C, 4 * C, true)));
        }
        headGain = gain("head.gain", C);
        head = single("head.weight", architecture.vocab(), C, false);
    }

    /** The names of an architecture's hidden matrices, in the order of all arrays. */
    public static List<String> hidden(Architecture architecture) {
        List<String> names = new ArrayList<>();
        for (int l = 0; l < architecture.layers(); l++) {
            for (String part : List.of("attn.q", "attn.k", "attn.v", "attn.o", "mlp.fc", "mlp.proj")) {
                names.add("blocks." + l + "." + part + ".weight");
            }
        }
        return names;
    }

    /** Every parameter under the name it has in files, always in the same order. */
    public List<Parameter> all() {
        return List.copyOf(all);
    }

    public List<Parameter> hidden() {
        return all.stream().filter(Parameter::hidden).toList();
    }

    public List<Parameter> rest() {
        return all.stream().filter(parameter -> !parameter.hidden()).toList();
    }

    /** The gradients, to be set to zero before a step's first micro-batch. */
    public List<Tensor> gradients() {
        return all.stream().map(Parameter::gradient).toList();
    }

    private Parameter single(String name, int rows, int cols, boolean hidden) {
        return listed(declare(Role.WEIGHT, name, rows, cols, hidden));
    }

    private Parameter gain(String name, int cols) {
        return listed(declare(Role.GAIN, name, 1, cols, false));
    }

    private Parameter listed(Parameter parameter) {
        all.add(parameter);
        return parameter;
    }

    private Parameter declare(Role role, String name, int rows, int cols, boolean hidden) {
        boolean exact = hidden && masters == Masters.EXACT;
        Tensor master = engine.tensor(exact ? Role.EXACT_MASTER : Role.MASTER, name, rows, cols);
        boolean separate = engine.separateWeights() || hidden && masters != Masters.SHARED;
        Tensor weight = separate ? engine.tensor(role, name, rows, cols) : master;
        Role gradient = hidden ? Role.HIDDEN_GRADIENT : Role.GRADIENT;
        return new Parameter(name, hidden, weight, master, engine.tensor(gradient, name, rows, cols));
    }

    private Parameter part(Parameter whole, String name, int from, int rows) {
        Tensor master = engine.slice(whole.master(), name, from, rows);
        Tensor weight = whole.separate() ? engine.slice(whole.weight(), name, from, rows) : master;
        return new Parameter(name, true, weight, master, engine.slice(whole.gradient(), name, from, rows));
    }
}
