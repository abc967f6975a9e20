package hypertransfer.train.network;

import hypertransfer.train.Word;

/** Sizes that have a name. */
public enum Preset implements Word {
    DEMO(256, 4, 128, 32, 128, 16, 400, 2_048),
    SMALL(256, 6, 256, 64, 256, 8, 400, 2_048),
    MID(50304, 6, 384, 128, 256, 4, 400, 1_024),
    PAPER_50M(50304, 6, 384, 128, 1024, 48, 5_723, 49_152),
    GPT2_124M(50304, 12, 768, 128, 1024, 64, 5_723, 524_288),
    DENSE_500M(50304, 24, 1280, 128, 1024, 32, 133_500, 524_288);

    /** In M1; M2 has the same sizes. */
    public final Architecture architecture;

    /** Sequences in a micro-batch. */
    public final int batch;

    public final int steps;

    /** Tokens of a step: the paper's for networks of its sizes, else one micro-batch's. */
    public final int stepTokens;

    Preset(int vocab, int layers, int width, int head, int sequence, int batch, int steps, int stepTokens) {
        architecture = new Architecture(Variant.M1, vocab, layers, width, head, sequence);
        this.batch = batch;
        this.steps = steps;
        this.stepTokens = stepTokens;
    }

    /**
     * Whether runs are meant to be compared with the paper's: its number of steps (or tokens), Muon's shape factor, Newton-Schulz
     * in bfloat16.
     */
    public boolean paper() {
        return switch (this) {
            case DEMO, SMALL, MID -> false;
            case PAPER_50M, GPT2_124M, DENSE_500M -> true;
        };
    }

    public static Preset parse(String label) {
        return Word.parse(Preset.class, "preset", label);
    }
}
