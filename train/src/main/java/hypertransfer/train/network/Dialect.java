package hypertransfer.train.network;

import hypertransfer.core.Refusal;
import hypertransfer.engine.Layers.Nonlinearity;
import hypertransfer.train.Word;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;

/** The names and forms under which a file of weights has them, as the transformers library writes it. */
public enum Dialect implements Word {
    OWN(""),
    GPT2("transformer.", ""),
    LLAMA("model.", "");

    /** What names begin with, the usual first: files of the network only have less in front than those of a model with a head. */
    public final List<String> prefixes;

    Dialect(String... prefixes) {
        this.prefixes = List.of(prefixes);
    }

    public static Dialect parse(String label) {
        return Word.parse(Dialect.class, "format", label);
    }

    public String name(Foreign tensor, String prefix) {
        return tensor.name().equals(head()) ? tensor.name() : prefix + tensor.name();
    }

    /** The head's name, which never has a prefix. */
    public String head() {
        return this == OWN ? "head.weight" : "lm_head.weight";
    }

    /** Whether a file may have this tensor that is no weight: masks and tables. */
    public boolean ignores(String name) {
        return this != OWN
                && (name.endsWith(".attn.bias") || name.endsWith(".masked_bias") || name.endsWith(".inv_freq"));
    }

    /** Refuses a network that this program does not know. */
    public void require(Architecture architecture) {
        Design d = architecture.design();
        boolean gpt2 = this == GPT2;
        Map<String, Boolean> wrong = new LinkedHashMap<>();
        if (this != OWN) {
            wrong.put("network is M1, not M2", architecture.postNorm());
            wrong.put("model.qk_norm is true, not false", d.qkNorm());
            wrong.put("model.embed_norm is true, not false", d.embedNorm());
            wrong.put(
                    "model.mlp is not " + (gpt2 ? "gelu" : "swiglu"),
                    d.mlp() != (gpt2 ? Nonlinearity.GELU : Nonlinearity.SWIGLU));
            wrong.put(
                    "model.norm is not " + (gpt2 ? "layer" : "rms"),
                    d.norm() != (gpt2 ? Design.Norm.LAYER : Design.Norm.RMS));
            wrong.put("model.bias is true, not false", !gpt2 && d.bias());
            wrong.put(
                    "model.positions is " + (gpt2 ? "rotary" : "not rotary"),
                    gpt2 == (d.positions() == Design.Positions.ROTARY));
            wrong.put(
                    "model.window is " + d.window() + ", not 0",
                    d.window() > 0 && d.window() < architecture.sequence());
            wrong.put(
                    "model.kv_heads is " + d.kvHeads() + ", not 0",
                    gpt2 && d.kvHeads() > 0 && d.kvHeads() != architecture.width() / architecture.headWidth());
        }
        wrong.values().removeIf(applies -> !applies);
        if (!wrong.isEmpty()) {
            throw new Refusal("the format " + label() + " has no place for this network: "
                    + String.join(", ", wrong.keySet()) + "; use the format own, or a network with these keys");
        }
    }

    /** The tensors of a file, without prefix. */
    public List<Foreign> tensors(Architecture architecture) {
        Map<String, Outline> ours = architecture.outlines().stream()
                .collect(Collectors.toMap(Outline::name, Function.identity(), (a, b) -> a, LinkedHashMap::new));
        List<Foreign> all = new ArrayList<>();
        switch (this) {
            case OWN -> ours.values().forEach(own -> all.add(same(own.name(), own)));
            case GPT2 -> gpt2(architecture, ours, all);
            case LLAMA -> llama(architecture, ours, all);
        }
        if (this != OWN && ours.containsKey("head.weight")) {
            all.add(same(head(), ours.get("head.weight")));
        }
        return all;
    }

    private static void llama(Architecture a, Map<String, Outline> ours, List<Foreign> all) {
        all.add(same("embed_tokens.weight", ours.get("embed.weight")));
        for (int l = 0; l < a.layers(); l++) {
            String here = "blocks." + l + ".", there = "layers." + l + ".";
            all.add(norm(there + "input_layernorm.weight", ours.get(here + "attn.gain")));
            for (String part : List.of("q", "k", "v", "o")) {
                Foreign.Form form = "qk".contains(part) ? Foreign.Form.HALVES : Foreign.Form.SAME;
                Outline own = ours.get(here + "attn." + part + ".weight");
                all.add(Foreign.of(there + "self_attn." + part + "_proj.weight", form, a.headWidth(), own));
            }
            all.add(norm(there + "post_attention_layernorm.weight", ours.get(here + "mlp.gain")));
            all.add(same(there + "mlp.gate_proj.weight", ours.get(here + "mlp.gate.weight")));
            all.add(same(there + "mlp.up_proj.weight", ours.get(here + "mlp.fc.weight")));
            all.add(same(there + "mlp.down_proj.weight", ours.get(here + "mlp.proj.weight")));
        }
        all.add(norm("norm.weight", ours.get("head.gain")));
    }

    private static void gpt2(Architecture a, Map<String, Outline> ours, List<Foreign> all) {
        all.add(same("wte.weight", ours.get("embed.weight")));
        all.add(added("wpe.weight", a.sequence(), a.width(), ours.get("embed.positions")));
        for (int l = 0; l < a.layers(); l++) {
            String attn = "blocks." + l + ".attn.", mlp = "blocks." + l + ".mlp.", there = "h." + l + ".";
            layerNorm(all, there + "ln_1", ours, attn);
            linear(all, there + "attn.c_attn", ours, attn, "qkv");
            linear(all, there + "attn.c_proj", ours, attn, "o");
            layerNorm(all, there + "ln_2", ours, mlp);
            linear(all, there + "mlp.c_fc", ours, mlp, "fc");
            linear(all, there + "mlp.c_proj", ours, mlp, "proj");
        }
        layerNorm(all, "ln_f", ours, "head.");
    }

    private static void layerNorm(List<Foreign> all, String name, Map<String, Outline> ours, String at) {
        Outline gain = ours.get(at + "gain");
        all.add(norm(name + ".weight", gain));
        all.add(added(name + ".bias", 1, gain.cols(), ours.get(at + "norm.bias")));
    }

    /** A matrix with its bias; those of q, k and v are one there. */
    private static void linear(List<Foreign> all, String name, Map<String, Outline> ours, String at, String matrix) {
        Outline[] parts = Arrays.stream(matrix.equals("qkv") ? new String[] {"q", "k", "v"} : new String[] {matrix})
                .map(part -> ours.get(at + part + ".weight"))
                .toArray(Outline[]::new);
        Foreign weight = Foreign.of(name + ".weight", Foreign.Form.TRANSPOSED, 0, parts);
        all.add(weight);
        all.add(added(name + ".bias", 1, weight.cols(), ours.get(at + matrix + ".bias")));
    }

    private static Foreign same(String name, Outline own) {
        return Foreign.of(name, Foreign.Form.SAME, 0, own);
    }

    /** What is added there, a bias or positions, and here only where the network has it. */
    private static Foreign added(String name, int rows, int cols, Outline own) {
        return own == null ? new Foreign(name, rows, cols, List.of(), Foreign.Form.ZEROS, 0) : same(name, own);
    }

    private static Foreign norm(String name, Outline gain) {
        return Foreign.of(name, Foreign.Form.GAIN, 0, gain);
    }
}
