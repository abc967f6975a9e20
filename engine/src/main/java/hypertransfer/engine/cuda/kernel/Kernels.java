package hypertransfer.engine.cuda.kernel;

import hypertransfer.engine.EngineException;
import hypertransfer.engine.cuda.driver.Cache;
import hypertransfer.engine.cuda.driver.Device;
import hypertransfer.engine.cuda.driver.Driver;
import hypertransfer.engine.cuda.driver.Launch;
import hypertransfer.engine.cuda.driver.Nvrtc;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/** Our kernels, compiled for one card, one set of sizes and one precision. */
public final class Kernels {
    /** Files that need {@code wgmma.cuh} as {@code hopper} does, and the shared memory of their kernels. */
    private static final Map<String, Integer> WGMMA =
            Map.of("fused", Fused.BYTES, "fused8", Fused.BYTES, "symmetric", Fused.BYTES, "blocks", Blocks.BYTES);

    public final Device device;
    private final Map<Kernel, Long> functions = new EnumMap<>(Kernel.class);
    /** Shared memory that softmax holds a row in; 0 where it is read again instead. */
    public final int softmaxBytes;
    /** How the tensor cores run attention; none where the plain kernels do. */
    public final Optional<Flash> flash;
    /** Whether products do what follows them. */
    public final boolean fused;
    /** Whether Newton-Schulz's symmetric products are computed by half. */
    public final boolean symmetric;

    public Kernels(Device device, Nvrtc nvrtc, Cache cache, Geometry geometry) {
        this.device = device;
        Driver driver = device.driver;
        int card = driver.capability(), target = nvrtc.target(card) == card ? card : 0;
        flash = Flash.of(geometry.dims(), geometry.precision(), target, driver.shared());
        fused = Fused.fits(geometry.dims(), geometry.precision(), target, driver.shared());
        symmetric = Symmetric.runs(target, driver.shared());
        String missing = geometry.eight() ? Fused.missingEight(geometry.dims(), target, driver.shared()) : "";
        if (!missing.isEmpty()) {
            throw new EngineException(missing);
        }
        List<String> files = files(flash, fused, symmetric, geometry.eight());
        Map<String, byte[]> images = new ConcurrentHashMap<>();
        files.parallelStream()
                .forEach(file -> images.put(file, image(nvrtc, cache, file, source(file, geometry, flash))));
        for (String file : files) {
            long module = device.module(images.get(file));
            in(file).forEach(kernel -> functions.put(kernel, device.function(module, kernel.symbol())));
        }
        softmaxBytes = geometry.softmaxBytes(driver.shared());
        device.allow(functions.get(Kernel.SOFTMAX), softmaxBytes);
        flash.stream().flatMap(Flash::tiles).forEach(tile -> device.allow(functions.get(tile.kernel()), tile.bytes()));
        files.stream()
                .filter(WGMMA::containsKey)
                .flatMap(file -> in(file).stream())
                .forEach(kernel -> device.allow(functions.get(kernel), WGMMA.get(kernel.file)));
    }

    /** Each argument is a tensor, an address, a number, a truth value, or null for a tensor that is not there. */
    public void launch(Kernel kernel, Launch launch, Object... arguments) {
        queue(kernel, launch, words(arguments));
    }

    /** The same where the arguments are words already. */
    public void queue(Kernel kernel, Launch launch, long[] words) {
        if (words.length != kernel.arity) {
            throw new IllegalArgumentException(
                    kernel + " takes " + kernel.arity + " words, but " + words.length + " were given");
        }
        long function = functions.get(kernel);
        if (kernel.maps == 0) {
            device.launch(function, launch, words);
        } else {
            device.launch(function, launch, kernel.maps, words);
        }
    }

    /** The same where maps of matrices come first. */
    void queue(Kernel kernel, Launch launch, Stream<long[]> maps, long[] others) {
        LongStream words = LongStream.concat(maps.flatMapToLong(LongStream::of), LongStream.of(others));
        queue(kernel, launch, words.toArray());
    }

    public static long[] words(Object... arguments) {
        return Arrays.stream(arguments)
                .mapToLong(argument -> switch (argument) {
                    case null -> 0;
                    case DeviceTensor tensor -> tensor.pointer();
                    case Double number -> Double.doubleToRawLongBits(number);
                    case Boolean truth -> truth ? 1 : 0;
                    case Integer number -> number;
                    case Long number -> number;
                    default -> throw new IllegalArgumentException("no kernel takes a " + argument.getClass());
                })
                .toArray();
    }

    static List<String> files(Optional<Flash> flash, boolean fused, boolean symmetric, boolean eight) {
        return Stream.of(
                        Stream.of("rows", "heads", "tokens", "lists", "attention"),
                        flash.stream().flatMap(Flash::files),
                        fused ? Stream.of("fused", "head") : Stream.<String>empty(),
                        symmetric ? Stream.of("symmetric") : Stream.<String>empty(),
                        eight ? Stream.of("rows8", "fused8", "eight") : Stream.<String>empty())
                .flatMap(files -> files)
                .toList();
    }

    static List<Kernel> in(String file) {
        return Arrays.stream(Kernel.values())
                .filter(kernel -> kernel.file.equals(file))
                .toList();
    }

    /** The whole text: the numbers, what is common, the kernels. */
    static String source(String file, Geometry geometry, Optional<Flash> flash) {
        boolean tiles = flash.isPresent() && flash.get().file().equals(file);
        return geometry.constants(file)
                + (tiles ? flash.get().constants() : "")
                + resource("common.cuh")
                + (tiles || file.equals("blocks") ? resource("tiles.cuh") : "")
                + (WGMMA.containsKey(file) || file.equals("hopper") ? resource("wgmma.cuh") : "")
                + (file.equals("blocks") ? resource("blocks.cuh") : "")
                + (file.matches("(rows|fused)8?") ? resource(file.replace("8", "") + ".cuh") : "")
                + resource(file + ".cu");
    }

    private byte[] image(Nvrtc nvrtc, Cache cache, String file, String source) {
        int capability = device.driver.capability();
        String name = file + "-" + capability + "-"
                + Cache.hash(nvrtc.version() + "\n" + nvrtc.target(capability) + "\n" + source);
        return cache.sealed(name).orElseGet(() -> {
            byte[] image = nvrtc.compile(file + ".cu", source, capability);
            cache.seal(name, image);
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
}
