package hypertransfer.engine.cuda;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The functions of one shared library, all of which return a status. Pointers that only the device understands, and
 * handles, travel as {@code long}; host memory as {@link MemorySegment}. The first call's arguments fix the signature.
 */
final class Native {
    private final String library;
    private final SymbolLookup symbols;
    private final Map<String, MethodHandle> functions = new ConcurrentHashMap<>();

    Native(String library, SymbolLookup symbols) {
        this.library = library;
        this.symbols = symbols;
    }

    int call(String function, Object... arguments) {
        MethodHandle handle = functions.get(function);
        if (handle == null) {
            handle = functions.computeIfAbsent(function, f -> link(f, arguments));
        }
        try {
            return (int) handle.invokeExact(arguments);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) { // what MethodHandle declares; a C function throws nothing
            throw new EngineException(function + " of " + library + " could not be called", e);
        }
    }

    private MethodHandle link(String function, Object[] arguments) {
        MemorySegment address = symbols.find(function)
                .orElseThrow(() -> new EngineException(
                        library + " has no function " + function + "; a CUDA 12 or 13 release of it is needed"));
        MemoryLayout[] layouts = new MemoryLayout[arguments.length];
        for (int i = 0; i < layouts.length; i++) {
            layouts[i] = switch (arguments[i]) {
                case Integer _ -> JAVA_INT;
                case Long _ -> JAVA_LONG;
                case Byte _ -> JAVA_BYTE;
                case MemorySegment _ -> ADDRESS;
                default -> throw new IllegalArgumentException(function + ": " + arguments[i].getClass());
            };
        }
        return Linker.nativeLinker()
                .downcallHandle(address, FunctionDescriptor.of(JAVA_INT, layouts))
                .asSpreader(Object[].class, layouts.length)
                .asType(MethodType.methodType(int.class, Object[].class));
    }
}
