package hypertransfer.engine.foreign;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import hypertransfer.engine.EngineException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;

/** The functions of a library that is loaded. The arguments of a function's first call fix its signature. */
public record Functions(String name, SymbolLookup symbols, Map<String, MethodHandle> functions) implements Native {
    public Functions(String name, SymbolLookup symbols) {
        this(name, symbols, new ConcurrentHashMap<>());
    }

    /** Those of the system's C library. */
    public static Functions system() {
        return new Functions("the C library", Linker.nativeLinker().defaultLookup());
    }

    /** Those of a library that the system's loader finds by this name or path; none where it cannot load it. */
    public static Optional<Functions> open(String place) {
        try {
            Arena forever = Arena.global(); // MPI, for one, cannot be loaded a second time
            SymbolLookup lookup = place.indexOf('/') < 0
                    ? SymbolLookup.libraryLookup(place, forever)
                    : SymbolLookup.libraryLookup(Path.of(place), forever);
            return Optional.of(new Functions(place, lookup));
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** Those of the first of these places that the system's loader can load. */
    public static Optional<Functions> first(List<String> places) {
        return places.stream().flatMap(place -> open(place).stream()).findFirst();
    }

    public boolean has(String symbol) {
        return symbols.find(symbol).isPresent();
    }

    /** The address of a function or a variable. */
    public MemorySegment address(String symbol) {
        return symbols.find(symbol)
                .orElseThrow(() -> new EngineException(name + " has no " + symbol
                        + "; install a release that has it: docs/USE.md names those that work"));
    }

    @Override
    public int call(String function, Object... arguments) {
        MethodHandle handle = functions.get(function);
        if (handle == null) {
            handle = functions.computeIfAbsent(function, f -> link(f, arguments));
        }
        try {
            return (int) handle.invokeExact(arguments);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) { // what MethodHandle declares; a C function throws nothing
            throw new EngineException(function + " of " + name + " could not be called", e);
        }
    }

    private MethodHandle link(String function, Object[] arguments) {
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
        return spread(function, FunctionDescriptor.of(JAVA_INT, layouts));
    }

    /** Fixes the signature of a function whose arguments do not tell it: those with a structure passed by value. */
    public void declare(String function, MemoryLayout... layouts) {
        functions.put(function, spread(function, FunctionDescriptor.of(JAVA_INT, layouts)));
    }

    private MethodHandle spread(String function, FunctionDescriptor descriptor) {
        return Linker.nativeLinker()
                .downcallHandle(address(function), descriptor)
                .asSpreader(Object[].class, descriptor.argumentLayouts().size())
                .asType(MethodType.methodType(int.class, Object[].class));
    }
}
