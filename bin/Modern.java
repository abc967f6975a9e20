import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassFile.ClassHierarchyResolverOption;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassModel;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.CodeTransform;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;

/**
 * Writes a jar again with its classes in the format of Java 8. The JVM keeps no class older than Java 6 in an archive:
 * it reads and verifies them anew at every start, and the command line's parser is for Java 5.
 *
 *     java Modern.java OLD NEW
 */
class Modern {
    private static final int FRAMES = 50, JAVA_8 = 52; // from FRAMES on, a class says what lies on the stack

    public static void main(String[] args) throws IOException {
        Path old = Path.of(args[0]);
        try (JarFile from = new JarFile(old.toFile());
                JarOutputStream to = new JarOutputStream(Files.newOutputStream(Path.of(args[1])));
                URLClassLoader loader = new URLClassLoader(new URL[] {old.toUri().toURL()})) {
            ClassFile format = ClassFile.of(
                    ClassHierarchyResolverOption.of(ClassHierarchyResolver.ofResourceParsing(loader)));
            for (JarEntry entry : Collections.list(from.entries())) {
                byte[] bytes = from.getInputStream(entry).readAllBytes();
                to.putNextEntry(new JarEntry(entry.getName()));
                to.write(entry.getName().endsWith(".class") ? modern(format, bytes) : bytes);
            }
        }
    }

    private static byte[] modern(ClassFile format, byte[] bytes) {
        ClassModel model = format.parse(bytes);
        return model.majorVersion() >= FRAMES
                ? bytes
                : format.transformClass(
                        model,
                        ClassTransform.transformingMethodBodies(CodeTransform.ACCEPT_ALL)
                                .andThen(ClassTransform.endHandler(to -> to.withVersion(JAVA_8, 0))));
    }
}
