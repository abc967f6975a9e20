package hypertransfer.engine.cuda;

import hypertransfer.engine.Dims;
import hypertransfer.engine.EngineException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** Our kernels, compiled for one card, one set of sizes and one precision. */
final class Kernels implements AutoCloseable {
    /** Entries of one list launch; 48 bytes each, below the 4096 that a launch may carry. */
    static final int MAX_LIST = 64;
    /** Blocks that share the sums over one tensor. */
    static final int SHARES = 128;

    private final Device device;
    private final List<Long> modules = new ArrayList<>();
    private final Map<String, Long> functions = new HashMap<>();
    private final int softmaxBytes;
    private final Optional<Flash> flash;

    Kernels(Device device, Nvrtc nvrtc, Cache cache, Dims dims, Precision precision) {
        this.device = device;
        int card = device.driver().capability(), target = nvrtc.target(card) == card ? card : 0;
        flash = Flash.of(dims, precision, target, device.driver().shared());
        int stages = flash.map(Flash::stages).orElse(1);
        Map<String, byte[]> images = new ConcurrentHashMap<>();
        files(flash).parallelStream()
                .forEach(file -> images.put(file, image(nvrtc, cache, file, source(file, dims, precision, stages))));
        for (String file : files(flash)) {
            long module = device.module(images.get(file));
            modules.add(module);
            for (String kernel : names(file)) {
                functions.put(kernel, device.function(module, kernel));
            }
        }
        softmaxBytes =
                new Geometry(dims, precision).softmaxBytes(device.driver().shared());
        device.allow(functions.get("softmax"), softmaxBytes);
        flash.ifPresent(f -> {
            device.allow(functions.get("flash"), f.forwardBytes());
            device.allow(functions.get("flash_key"), f.keyBytes());
            device.allow(functions.get("flash_query"), f.queryBytes());
        });
    }

    void launch(String kernel, Launch launch, long... arguments) {
        device.profile().around(kernel, () -> device.launch(functions.get(kernel), launch, arguments));
    }

    /** Shared memory that softmax holds a row in; 0 where it is read again instead. */
    int softmaxBytes() {
        return softmaxBytes;
    }

    /** How the tensor cores run attention; none where the plain kernels do. */
    Optional<Flash> flash() {
        return flash;
    }

    static List<String> files(Optional<Flash> flash) {
        List<String> files = new ArrayList<>(List.of("rows", "heads", "tokens", "lists", "attention"));
        flash.ifPresent(f -> files.add(f.file()));
        return files;
    }

    /** The kernels that a file defines. */
    static List<String> names(String file) {
        return switch (file) {
            case "rows" -> List.of("row_norm", "row_norm_backward", "columns", "activation", "activation_backward");
            case "heads" -> List.of("heads", "heads_backward");
            case "tokens" -> List.of("embed", "embed_backward", "softmax", "logits");
            case "lists" ->
                List.of(
                        "momentum",
                        "adam",
                        "move",
                        "represent",
                        "readings",
                        "total",
                        "finish",
                        "normalize",
                        "denormalize");
            case "attention" -> List.of("attention", "attention_delta", "attention_query", "attention_key");
            case "flash", "hopper" -> List.of("flash", "flash_key", "flash_query");
            default -> throw new IllegalArgumentException(file);
        };
    }

    /** The whole text: sizes, what is common, the kernels. */
    static String source(String file, Dims dims, Precision precision, int stages) {
        return """
                #define BF16 %d
                #define T %d
                #define C %d
                #define D %d
                #define H %d
                #define V %d
                #define MAX_LIST %d
                #define SHARES %d
                #define STAGES %d
                """.formatted(
                                precision == Precision.BF16 ? 1 : 0,
                                dims.T(),
                                dims.C(),
                                dims.D(),
                                dims.H(),
                                dims.V(),
                                MAX_LIST,
                                SHARES,
                                stages)
                + resource("common.cuh")
                + resource(file + ".cu");
    }

    private byte[] image(Nvrtc nvrtc, Cache cache, String file, String source) {
        String name = file + "-" + device.driver().capability() + "-"
                + Cache.hash(
                        nvrtc.version() + "\n" + nvrtc.target(device.driver().capability()) + "\n" + source);
        return cache.read(name).orElseGet(() -> {
            byte[] image = nvrtc.compile(file + ".cu", source, device.driver().capability());
            cache.write(name, image);
            return image;
        });
    }

    private static String resource(String name) {
        try (InputStream in = Kernels.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new EngineException("the engine's own kernel file " + name + " is missing from the build");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        modules.forEach(device::unload);
    }
}
