package hypertransfer.engine.cuda.kernel;

import hypertransfer.engine.cuda.driver.Device;
import java.util.Locale;

/** Every kernel: its source file, and the number of its 8-byte arguments; its symbol is the name in lower case. */
public enum Kernel {
    ADD_ROWS("rows", 5),
    ADD_ROWS_BACKWARD("rows", 5),
    ROW_NORM("rows", 8),
    ROW_NORM_BACKWARD("rows", 11),
    LAYER_NORM("rows", 8),
    LAYER_NORM_BACKWARD("rows", 11),
    COLUMNS("rows", 3),
    RELU_SQUARED("rows", 4),
    RELU_SQUARED_BACKWARD("rows", 5),
    GELU("rows", 4),
    GELU_BACKWARD("rows", 5),
    SWIGLU("rows", 4),
    SWIGLU_BACKWARD("rows", 5),
    HEADS("heads", 7),
    HEADS_BACKWARD("heads", 8),
    EMBED("tokens", 4),
    EMBED_BACKWARD("tokens", 5),
    SOFTMAX("tokens", 6),
    LOGITS("tokens", 3),
    ATTENTION("attention", 4),
    ATTENTION_DELTA("attention", 4),
    ATTENTION_QUERY("attention", 6),
    ATTENTION_KEY("attention", 6),
    FLASH("flash", 3),
    FLASH_KEY("flash", 5),
    FLASH_QUERY("flash", 5),
    HOPPER("hopper", 3),
    HOPPER_KEY("hopper", 10),
    HOPPER_QUERY("hopper", 10),
    ATTENTION_FORWARD("blocks", 2, 2),
    BACKWARD_ROWS("blocks", 5),
    BACKWARD_KEY("blocks", 3, 8),
    BACKWARD_QUERY("blocks", 2, 6),
    PRODUCT_HEADS("fused", 3, 8),
    PRODUCT_RELU_SQUARED("fused", 3, 3),
    PRODUCT_SLOPE("fused", 4, 3),
    PRODUCT_POWERS("fused", 3, 5),
    PRODUCT_HEADS_8("fused8", 3, 9),
    PRODUCT_RELU_SQUARED_8("fused8", 3, 4),
    PRODUCT_SLOPE_8("fused8", 4, 4),
    PRODUCT_POWERS_8("fused8", 3, 6),
    ROW_NORM_8("rows8", 8),
    ROW_NORM_BACKWARD_8("rows8", 11),
    TURN_8("eight", 10),
    HEAD_TOP_8("eight", 7),
    HEAD_LOSS_8("eight", 8),
    LOGITS_8("eight", 4),
    HEAD_TOP("head", 6),
    HEAD_LOSS("head", 12),
    HEAD_SCALE("head", 3),
    GRAM("symmetric", 3, 3),
    GRAM_TALL("symmetric", 3, 3),
    SQUARE("symmetric", 4, 4),
    MOMENTUM("lists", Geometry.LIST_WORDS + 2),
    ADAM("lists", Geometry.LIST_WORDS + 5),
    SIGN("lists", Geometry.LIST_WORDS + 2),
    CLAMP("lists", Geometry.LIST_WORDS + 1),
    EQUALIZE("lists", Geometry.LIST_WORDS + 3),
    RESCALE("lists", Geometry.LIST_WORDS + 2),
    BLOCKS("lists", Geometry.LIST_WORDS + 3),
    MOVE("lists", Geometry.LIST_WORDS),
    MOVE_EXACT("lists", Geometry.LIST_WORDS),
    REPRESENT("lists", Geometry.LIST_WORDS + 1),
    REPRESENT_EXACT("lists", Geometry.LIST_WORDS + 1),
    READINGS("lists", Geometry.LIST_WORDS + 1),
    TOTAL("lists", Geometry.LIST_WORDS + 1),
    FINISH("lists", 2),
    NORMALIZE("lists", Geometry.LIST_WORDS + 1),
    DENORMALIZE("lists", Geometry.LIST_WORDS);

    public final String file;
    final int maps;
    final int arity;

    Kernel(String file, int arity) {
        this(file, 0, arity);
    }

    /** Maps of matrices come first, then single words. */
    Kernel(String file, int maps, int others) {
        this.file = file;
        this.maps = maps;
        arity = maps * Device.MAP_WORDS + others;
    }

    public String symbol() {
        return name().toLowerCase(Locale.ROOT);
    }
}
