package hypertransfer.lab;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** docs/HOUSE.md names every package, and nothing that is not there. */
class HouseTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern CODE = Pattern.compile("`([^`\n]+)`");
    private static final String PACKAGE = "(core|prediction|engine|train|lab|djl|examples)(\\.[a-z]+)*";

    private static Set<String> named(String pattern) throws IOException {
        return CODE.matcher(Files.readString(ROOT.resolve("docs/HOUSE.md")))
                .results()
                .map(code -> code.group(1))
                .filter(code -> code.matches(pattern))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static Stream<Path> sources(String where) throws IOException {
        return Files.find(
                ROOT,
                12,
                (file, is) -> file.toString().matches("\\.\\./[a-z]+/src/(" + where + ")/java/hyper.*\\.java"));
    }

    @Test
    void everyPackageIsNamedAndThere() throws IOException {
        try (Stream<Path> files = sources("main")) {
            Set<String> there = files.map(file -> file.getParent()
                            .toString()
                            .replaceFirst(".*/hypertransfer/", "")
                            .replace('/', '.'))
                    .collect(Collectors.toCollection(TreeSet::new));
            assertThat(named(PACKAGE)).containsExactlyElementsOf(there);
        }
    }

    /** A path may leave out what is the same in every module. */
    @Test
    void everyPathIsThere() throws IOException {
        Set<String> paths = named("[\\w.-]+/[\\w./-]+");
        assertThat(paths).hasSizeGreaterThan(15);
        assertThat(paths).allMatch(path -> {
            String module = path.replaceFirst("/.*", "");
            return path.contains("/target/")
                    || Files.exists(ROOT.resolve(path))
                    || Files.exists(ROOT.resolve(module + "/src/main/java/hypertransfer/" + path));
        });
    }

    @Test
    void everyClassIsThere() throws IOException {
        try (Stream<Path> files = sources("main|test")) {
            Set<String> there = files.map(file -> file.getFileName().toString().replace(".java", ""))
                    .collect(Collectors.toSet());
            Set<String> named = named("[A-Z][A-Za-z]*[a-z][A-Za-z]*(\\.[a-z]\\w*)?").stream()
                    .map(name -> name.replaceFirst("\\..*", ""))
                    .collect(Collectors.toSet());
            assertThat(named).hasSizeGreaterThan(20);
            assertThat(there).containsAll(named);
        }
    }
}
