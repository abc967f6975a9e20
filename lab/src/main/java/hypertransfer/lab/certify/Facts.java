package hypertransfer.lab.certify;

import hypertransfer.core.Refusal;
import hypertransfer.engine.Dims;
import hypertransfer.train.config.Configuration;
import hypertransfer.train.data.Corpus;
import hypertransfer.train.data.Split;
import hypertransfer.train.network.Design;
import java.io.UncheckedIOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** What of a side holds for all matrices, by values: two ways to say the same give the same fact. */
final class Facts {
    /** What the check on a small network cannot see. */
    static final Set<String> UNSEEN = Set.of(
            "steps",
            "model.layers",
            "model.width",
            "model.head",
            "model.vocab",
            "model.sequence",
            "model.batch",
            "model.accumulation",
            "model.kv_heads",
            "model.mlp_width",
            "model.window",
            "data.train",
            "from.run");

    private Facts() {}

    static Map<String, Object> of(Side side) {
        Configuration c = side.configuration();
        Design design = c.model().design();
        Dims dims = c.architecture().dims(c.model().batch());
        int micros = c.model().accumulation();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("network", c.network());
        facts.put("model.layers", c.model().layers());
        facts.put("model.width", dims.C());
        facts.put("model.head", dims.D());
        facts.put("model.vocab", dims.V());
        facts.put("model.sequence", dims.T());
        // Without shuffling, a step reads the same tokens however they are cut into micro-batches.
        facts.put("model.batch", c.data().shuffle() ? dims.B() : "times accumulation " + dims.B() * micros);
        facts.put("model.accumulation", c.data().shuffle() ? micros : "any");
        facts.put("model.kv_heads", dims.G());
        facts.put("model.mlp_width", dims.F());
        facts.put("model.window", Math.min(dims.W(), dims.T()));
        facts.put("model.mlp", design.mlp());
        facts.put("model.qk_norm", design.qkNorm());
        facts.put("model.positions", design.positions());
        facts.put("model.norm", design.norm());
        facts.put("model.embed_norm", design.embedNorm());
        facts.put("model.bias", design.bias());
        facts.put("model.tied", design.tied());
        facts.put("steps", c.steps());
        facts.put("seed", c.seed());
        facts.put("data.train", data(c.data().train(), dims.V()));
        facts.put("data.shuffle", c.data().shuffle());
        facts.put("clip.norm", c.clip().norm());
        facts.put("clip.value", c.clip().value());
        facts.put("adamw.decay", c.adamw().decay());
        facts.put("adamw.beta1", c.adamw().beta1());
        facts.put("adamw.beta2", c.adamw().beta2());
        facts.put("adamw.epsilon", c.adamw().epsilon());
        return facts;
    }

    /** The fingerprint of shards that are there, wherever they lie; else the place. */
    private static Object data(String place, int vocab) {
        if (place.equals("demo")) {
            return place;
        }
        try (Corpus corpus = Corpus.open(List.of(place.split(",")), Split.TRAIN, vocab)) {
            return corpus.fingerprint();
        } catch (Refusal | UncheckedIOException e) { // gone, or of another machine
            return place;
        }
    }
}
