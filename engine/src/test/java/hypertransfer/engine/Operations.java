package hypertransfer.engine;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.TreeSet;
import java.util.stream.Stream;

/** An engine's methods and those of its two parts, by reflection. */
public final class Operations {
    /** What is no operation on numbers: TransportsTest, PackTest and what opens and closes an engine are about it. */
    private static final List<String> OTHERS = List.of("""
            await close commit decisions dims layers load motion name pack provenance remark replay separateWeights slice store
            tensor transport unpack until weights""".split("\\s+"));

    private Operations() {}

    public static List<Method> all() {
        return Stream.of(Engine.class, Layers.class, Motion.class)
                .flatMap(type -> Stream.of(type.getMethods()))
                .toList();
    }

    /** The names of the operations that a table does not begin a line with. */
    public static TreeSet<String> except(String table) {
        TreeSet<String> names = new TreeSet<>();
        all().forEach(method -> names.add(method.getName()));
        names.removeAll(OTHERS);
        table.lines().forEach(line -> names.remove(line.split(" ")[0]));
        return names;
    }

    /** What has the method: the engine, or a part of it. */
    public static Object owner(Engine engine, Method method) {
        return method.getDeclaringClass() == Layers.class
                ? engine.layers()
                : method.getDeclaringClass() == Motion.class ? engine.motion() : engine;
    }

    /** An engine that is its own two parts. */
    public static Engine of(InvocationHandler handler) {
        return (Engine) Proxy.newProxyInstance(
                Operations.class.getClassLoader(),
                new Class<?>[] {Engine.class, Layers.class, Motion.class},
                (proxy, method, args) -> List.of("layers", "motion").contains(method.getName())
                        ? proxy
                        : handler.invoke(proxy, method, args));
    }
}
