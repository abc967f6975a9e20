package hypertransfer.engine.ranks.library;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.util.Arrays;

/** A library whose functions are the public methods of a subclass. */
class Fake {
    static final MemoryLayout ID =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(NcclLibrary.ID_BYTES, ValueLayout.JAVA_BYTE));

    SymbolLookup lookup() {
        return name -> Arrays.stream(getClass().getDeclaredMethods())
                .filter(method -> method.getName().equals(name))
                .findFirst()
                .map(this::stub);
    }

    private MemorySegment stub(Method method) {
        try {
            method.setAccessible(true);
            MemoryLayout[] layouts = Arrays.stream(method.getParameters())
                    .map(p -> layout(p.getType(), p.isAnnotationPresent(ByValue.class)))
                    .toArray(MemoryLayout[]::new);
            return Linker.nativeLinker()
                    .upcallStub(
                            MethodHandles.lookup().unreflect(method).bindTo(this),
                            FunctionDescriptor.of(ValueLayout.JAVA_INT, layouts),
                            Arena.global());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME)
    @interface ByValue {}

    private static MemoryLayout layout(Class<?> type, boolean byValue) {
        return byValue
                ? ID
                : type == int.class
                        ? ValueLayout.JAVA_INT
                        : type == byte.class
                                ? ValueLayout.JAVA_BYTE
                                : type == long.class ? ValueLayout.JAVA_LONG : ValueLayout.ADDRESS;
    }
}
