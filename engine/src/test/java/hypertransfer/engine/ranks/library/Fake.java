package hypertransfer.engine.ranks.library;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** A library whose functions are the public methods of a subclass, and others that do nothing and succeed. */
class Fake {
    static final MemoryLayout ID =
            MemoryLayout.structLayout(MemoryLayout.sequenceLayout(NcclLibrary.ID_BYTES, ValueLayout.JAVA_BYTE));

    private final Map<String, String> idle = new HashMap<>();

    /** @param idle functions that do nothing, each with its parameters: {@code f(IBLA)} takes an int, a byte, a long, an address */
    Fake(String... idle) {
        for (String function : idle) {
            this.idle.put(function.replaceFirst("\\(.*", ""), function.replaceFirst(".*\\((.*)\\)", "$1"));
        }
    }

    SymbolLookup lookup() {
        return name -> Arrays.stream(getClass().getDeclaredMethods())
                .filter(method -> method.getName().equals(name))
                .findFirst()
                .map(this::stub)
                .or(() -> Optional.ofNullable(idle.get(name)).map(Fake::idle));
    }

    private MemorySegment stub(Method method) {
        try {
            method.setAccessible(true);
            MemoryLayout[] layouts = Arrays.stream(method.getParameters())
                    .map(p -> p.isAnnotationPresent(ByValue.class) ? ID : layout(p.getType()))
                    .toArray(MemoryLayout[]::new);
            return stub(MethodHandles.lookup().unreflect(method).bindTo(this), layouts);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static MemorySegment idle(String parameters) {
        List<Class<?>> types = new ArrayList<>();
        for (char parameter : parameters.toCharArray()) {
            types.add(
                    switch (parameter) {
                        case 'I' -> int.class;
                        case 'B' -> byte.class;
                        case 'L' -> long.class;
                        default -> MemorySegment.class;
                    });
        }
        MethodHandle nothing = MethodHandles.dropArguments(MethodHandles.constant(int.class, 0), 0, types);
        return stub(nothing, types.stream().map(Fake::layout).toArray(MemoryLayout[]::new));
    }

    private static MemorySegment stub(MethodHandle handle, MemoryLayout[] layouts) {
        FunctionDescriptor descriptor = FunctionDescriptor.of(ValueLayout.JAVA_INT, layouts);
        return Linker.nativeLinker().upcallStub(handle, descriptor, Arena.global());
    }

    @Retention(RetentionPolicy.RUNTIME)
    @interface ByValue {}

    private static MemoryLayout layout(Class<?> type) {
        return switch (type.getName()) {
            case "int" -> ValueLayout.JAVA_INT;
            case "byte" -> ValueLayout.JAVA_BYTE;
            case "long" -> ValueLayout.JAVA_LONG;
            default -> ValueLayout.ADDRESS;
        };
    }
}
