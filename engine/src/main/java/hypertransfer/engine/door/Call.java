package hypertransfer.engine.door;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;

/** What a door does when a method of what stands behind it is called. */
interface Call {
    Object run(Method method, Object[] arguments) throws Throwable;

    /** A door of this type. */
    static <T> T door(Class<T> type, Call call) {
        return type.cast(Proxy.newProxyInstance(
                Call.class.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> call.run(method, args)));
    }

    /** Lets a call through to its owner. */
    static Object through(Object owner, Method method, Object[] arguments) throws Throwable {
        try {
            return method.invoke(owner, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
