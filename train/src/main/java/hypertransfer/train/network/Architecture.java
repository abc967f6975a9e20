package hypertransfer.train.network;

import hypertransfer.engine.Dims;
import java.util.ArrayList;
import java.util.List;

/**
 * What a network is, apart from how it is trained.
 *
 * @param vocab V
 * @param layers L
 * @param width C
 * @param head the width of a head, D
 * @param sequence T
 */
public record Architecture(Variant variant, int vocab, int layers, int width, int head, int sequence) {

    /** The sizes an engine is opened for. */
    public Dims dims(int batch) {
        return new Dims(batch, sequence, width, head, vocab);
    }

    /** The number of parameters without the head, which is a matrix of its own here; sizes are often told so. */
    public long parametersWithoutHead() {
        return parameters() - (long) vocab * width;
    }

    /** The number of parameters. */
    public long parameters() {
        return 2L * vocab * width + 12L * layers * width * width + (2L * layers + 2) * width;
    }

    /** The name and shape of every parameter, in the order of {@link Parameters#all}. */
    public List<Outline> outlines() {
        List<Outline> all = new ArrayList<>();
        all.add(new Outline("embed.weight", vocab, width, false));
        all.add(new Outline("embed.gain", 1, width, false));
        for (int l = 0; l < layers; l++) {
            String at = "blocks." + l + ".";
            for (String part : List.of("q", "k", "v")) {
                all.add(new Outline(at + "attn." + part + ".weight", width, width, true));
            }
            all.add(new Outline(at + "attn.gain", 1, width, false));
            all.add(new Outline(at + "attn.o.weight", width, width, true));
            all.add(new Outline(at + "mlp.gain", 1, width, false));
            all.add(new Outline(at + "mlp.fc.weight", 4 * width, width, true));
            all.add(new Outline(at + "mlp.proj.weight", width, 4 * width, true));
        }
        all.add(new Outline("head.gain", 1, width, false));
        all.add(new Outline("head.weight", vocab, width, false));
        return all;
    }
}
