package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** The launcher runs picocli as {@code bin/Modern.java} writes it, the tests as it was published. */
class ModernTest {
    @Test
    void everyClassIsNewEnoughForAnArchiveAndPassesTheVerifier(@TempDir Path dir) throws Exception {
        Path old = Path.of(CommandLine.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation()
                .toURI());
        Path made = dir.resolve("made.jar");
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        assertThat(new ProcessBuilder(java, "../bin/Modern.java", old.toString(), made.toString())
                        .inheritIO()
                        .start()
                        .waitFor())
                .isZero();
        try (JarFile before = new JarFile(old.toFile());
                JarFile after = new JarFile(made.toFile());
                URLClassLoader loader =
                        new URLClassLoader(new URL[] {made.toUri().toURL()}, ClassLoader.getPlatformClassLoader())) {
            assertThat(names(after)).containsExactlyElementsOf(names(before)).hasSizeGreaterThan(150);
            for (String name : names(after)) {
                try (DataInputStream bytes = new DataInputStream(after.getInputStream(after.getEntry(name)))) {
                    bytes.readInt();
                    assertThat(bytes.readInt()).as("version of " + name).isGreaterThanOrEqualTo(50);
                }
                if (!name.startsWith("META-INF") && !name.contains("groovy")) {
                    Class.forName(name.replace('/', '.').replace(".class", ""), true, loader);
                }
            }
        }
    }

    private static List<String> names(JarFile jar) {
        return jar.stream()
                .map(JarEntry::getName)
                .filter(name -> name.endsWith(".class"))
                .toList();
    }
}
