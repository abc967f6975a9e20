package hypertransfer.engine.cpu.product;

import static java.lang.foreign.ValueLayout.JAVA_FLOAT;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.net.URL;
import java.util.ArrayList;
import java.util.List;
import org.bytedeco.javacpp.Loader;

/** Where OpenBLAS comes from: one jar per platform. */
public final class Natives {
    private static final List<String> PLATFORMS = List.of("linux-x86_64", "linux-arm64", "macosx-arm64");

    private Natives() {}

    /** The library for this machine. */
    public static SymbolLookup library() {
        return library(Loader.getPlatform());
    }

    /**
     * A function of a library. Addresses go as longs, so that a call makes no object.
     *
     * @param result null where it returns nothing
     * @param arguments a letter for each: i an int, f a float, a an address
     */
    static MethodHandle function(SymbolLookup library, String name, MemoryLayout result, String arguments) {
        MemoryLayout[] layouts = arguments
                .chars()
                .mapToObj(letter -> letter == 'i' ? JAVA_INT : letter == 'f' ? JAVA_FLOAT : JAVA_LONG)
                .toArray(MemoryLayout[]::new);
        FunctionDescriptor descriptor =
                result == null ? FunctionDescriptor.ofVoid(layouts) : FunctionDescriptor.of(result, layouts);
        return Linker.nativeLinker().downcallHandle(library.findOrThrow(name), descriptor);
    }

    /** The library for a platform, unpacked once per machine with its companions beside it. */
    public static SymbolLookup library(String platform) {
        String folder = "org/bytedeco/openblas/" + platform + "/";
        List<String> names = platform.startsWith("macosx")
                ? List.of("libgcc_s.1.1.dylib", "libquadmath.0.dylib", "libgfortran.5.dylib", "libopenblas.0.dylib")
                : List.of("libgcc_s.so.1", "libquadmath.so.0", "libgfortran.so.5", "libopenblas.so.0");
        ClassLoader jars = Natives.class.getClassLoader(); // as a module, the class itself sees its own jar only
        if (jars.getResource(folder + names.getLast()) == null) {
            throw new EngineException("there is no native OpenBLAS for " + platform
                    + " on the class path (where a program with modules needs it too); the cpu engine runs on "
                    + String.join(", ", PLATFORMS) + ". Use --engine reference here");
        }
        try {
            List<File> files = new ArrayList<>();
            for (String name : names) {
                URL resource = jars.getResource(folder + name);
                if (resource != null) {
                    files.add(Loader.cacheResource(resource));
                }
            }
            return open(files);
        } catch (IOException | IllegalArgumentException e) {
            throw new EngineException(
                    "OpenBLAS for " + platform + " cannot be unpacked or loaded; is " + cache() + " writable?", e);
        }
    }

    /** The system's own companions are preferred, since a second copy of them can do harm. */
    private static SymbolLookup open(List<File> files) {
        try {
            return SymbolLookup.libraryLookup(files.getLast().toPath(), Arena.global());
        } catch (IllegalArgumentException incomplete) {
            SymbolLookup last = null;
            for (File file : files) {
                last = SymbolLookup.libraryLookup(file.toPath(), Arena.global());
            }
            return last;
        }
    }

    private static String cache() {
        try {
            return Loader.getCacheDir().toString();
        } catch (IOException e) {
            return "the folder named by -Dorg.bytedeco.javacpp.cachedir";
        }
    }
}
