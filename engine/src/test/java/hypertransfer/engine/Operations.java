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
            await close commit decisions dims layers load motion name pack peak provenance remark replay separateWeights slice store
            tensor transport unpack weights""".split("\\s+"));

    /**
     * The operations and their arguments: a tensor and its shape, a list, or a value; "?" may be null. "!" is written; a "!" of
     * its own is what is returned.
     */
    public static final String TABLE = """
            embed w:V,C !x:N,C
            embedBackward dx:N,C !dw:V,C
            product x:N,C w:3C,C !y:N,3C
            productInput dy:N,3C w:3C,C !dx:N,C
            productWeight dy:N,3C x:N,C !dw:3C,C
            addRows !y:N,C b:1,C
            addRowsBackward dy:N,C !db:1,C
            norm x:N,C !norm !y:N,C
            normBackward dy:N,C x:N,C !norm+dgain !dx:N,C
            residualNorm h:N,C z:N,C !?zr:N,1 !out:N,C !norm !y:N,C
            residualNormBackward dy:N,C z:N,C ?zr:N,1 out:N,C !norm+dgain !dh:N,C !dz:N,C
            heads !qkv:N,3C !r:N,3H rule
            headsBackward !dqkv:N,3C qkv:N,3C r:N,3H rule
            attention qkv:N,3C !o:N,C !lse:N,H
            attentionBackward qkv:N,3C o:N,C lse:N,H dO:N,C !dqkv:N,3C
            activation f:N,8C !?fr:N,2 !s:N,4C kind
            activationBackward f:N,8C ?fr:N,2 ds:N,4C !df:N,8C kind
            productHeads x:N,C w:3C,C !qkv:N,3C !r:N,3H rule
            attentionHeadsBackward qkv:N,3C r:N,3H rule o:N,C lse:N,H dO:N,C !dqkv:N,3C
            productActivation x:N,C w:8C,C f:N,8C !s:N,4C kind
            productActivationBackward dy:N,C w:C,4C f:N,8C s:N,4C ds:N,4C !df:N,8C kind
            head x:N,C w:V,C !losses:N,1 =0.5 !dx:N,C !dw:V,C
            logits x:N,C row=0..2 w:V,C !
            read tensor
            sum tensor !
            write !tensor values*12
            zero !tensors[]
            momentum !g[] scale*2 =0.9 =false !m[]
            adam !g[] scale*2 moments !m[] !v[]
            sign !g[] scale*2 =0.9 =0.99 !m[]
            clamp !g[] scale*2 =0.5
            equalize !g[] =0.9 =0.1 ?norm*2 !v[]
            orthogonalize !x[] iteration
            readings w[] u[] !
            move !w[] u[] keep*2 push*2
            represent masters[] scale*2 grid=1..53 !weights[]
            feed inputs#3 targets#3
            """;

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
