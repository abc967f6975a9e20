package hypertransfer.train.network;

import hypertransfer.core.Refusal;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Collectors;

/** Sizes that have a name. */
public enum Preset {
    DEMO(256, 4, 128, 32, 128, 16),
    SMALL(256, 6, 256, 64, 256, 8),
    MID(50304, 6, 384, 128, 256, 4),
    GPT2_124M(50304, 12, 768, 128, 1024, 64),
    DENSE_500M(50304, 24, 1280, 128, 1024, 32);

    private final int vocab;
    private final int layers;
    private final int width;
    private final int headWidth;
    private final int sequence;
    private final int batch;

    Preset(int vocab, int layers, int width, int headWidth, int sequence, int batch) {
        this.vocab = vocab;
        this.layers = layers;
        this.width = width;
        this.headWidth = headWidth;
        this.sequence = sequence;
        this.batch = batch;
    }

    public Architecture architecture(Variant variant) {
        return architecture(Design.of(variant));
    }

    /** These sizes with other choices than the paper's. */
    public Architecture architecture(Design design) {
        return new Architecture(design, vocab, layers, width, headWidth, sequence);
    }

    /** Sequences in a micro-batch. */
    public int batch() {
        return batch;
    }

    /** Steps of a run: the paper's for networks of its size. */
    public int steps() {
        return switch (this) {
            case DEMO, SMALL, MID -> 400;
            case GPT2_124M -> 5_723;
            case DENSE_500M -> 133_500;
        };
    }

    /** Tokens of a step: the paper's for networks of its size, else one micro-batch's. */
    public int stepTokens() {
        return switch (this) {
            case DEMO, SMALL, MID -> batch * sequence;
            case GPT2_124M, DENSE_500M -> 524_288;
        };
    }

    public String label() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    public static Preset parse(String label) {
        return Arrays.stream(values())
                .filter(preset -> preset.label().equals(label))
                .findFirst()
                .orElseThrow(() -> new Refusal("unknown preset '" + label + "'; the presets are "
                        + Arrays.stream(values()).map(Preset::label).collect(Collectors.joining(", "))));
    }
}
