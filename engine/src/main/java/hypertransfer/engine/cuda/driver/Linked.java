package hypertransfer.engine.cuda.driver;

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

/** A library that is loaded. The arguments of a function's first call fix its signature. */
final class Linked implements Native {
    private final String name;
    private final SymbolLookup symbols;
    private final Map<String, MethodHandle> functions = new ConcurrentHashMap<>();

    Linked(String name, SymbolLookup symbols) {
        this.name = name;
        this.symbols = symbols;
    }

    @Override
    public String name() {
        return name;
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
        MemorySegment address = symbols.find(function)
                .orElseThrow(() -> new EngineException(
                        name + " has no function " + function + "; a CUDA 12 or 13 release of it is needed"));
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
