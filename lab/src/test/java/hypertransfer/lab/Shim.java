package hypertransfer.lab;

import java.io.IOException;
import java.io.InputStream;
import java.io.PrintWriter;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.Opcode;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.MethodTypeDesc;
import java.lang.reflect.Method;

/**
 * The command line inside the test's own process, with every operation that changes files going through {@link Disk}: the
 * classes of the project are loaded a second time, with their calls of {@code Files} and {@code FileChannel} bent.
 */
final class Shim extends ClassLoader implements Ht.Runner {
    private static final ClassDesc DISK = Disk.class.describeConstable().orElseThrow();
    private final Method main;

    Shim() throws ReflectiveOperationException {
        super(Shim.class.getClassLoader());
        main = loadClass(Main.class.getName())
                .getDeclaredMethod("run", PrintWriter.class, PrintWriter.class, boolean.class, String[].class);
        main.setAccessible(true);
    }

    /** Runs a command; -1 where {@link Disk} has ended it. */
    @Override
    public int run(PrintWriter out, PrintWriter err, boolean trace, String... args) {
        try {
            int exit = (int) main.invoke(null, out, err, trace, args);
            return Disk.halted() ? -1 : exit;
        } catch (ReflectiveOperationException e) {
            if (e.getCause() instanceof Disk.Halt) {
                return -1;
            }
            throw new AssertionError(e);
        }
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            if (!name.startsWith("hypertransfer.") || name.startsWith(Disk.class.getName())) {
                return super.loadClass(name, resolve);
            }
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = bent(in.readAllBytes());
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    private static byte[] bent(byte[] bytes) {
        return ClassFile.of()
                .transformClass(ClassFile.of().parse(bytes), ClassTransform.transformingMethodBodies(Shim::bend));
    }

    private static void bend(CodeBuilder code, CodeElement element) {
        if (element instanceof InvokeInstruction call
                && call.owner().asInternalName().startsWith("java/nio/")) {
            ClassDesc owner = call.owner().asSymbol();
            String method = call.name().stringValue(), name = owner.displayName() + "." + method;
            if (Disk.LED.contains(name)) {
                MethodTypeDesc type = call.typeSymbol();
                boolean isStatic = call.opcode() == Opcode.INVOKESTATIC;
                code.invokestatic(DISK, method, isStatic ? type : type.insertParameterTypes(0, owner));
                return;
            }
            if (Disk.CHANGES.contains(name)) {
                code.invokestatic(DISK, "operation", MethodTypeDesc.of(ConstantDescs.CD_void));
            }
        }
        code.with(element);
    }
}
