package hypertransfer.lab;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.simpleName;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;
import static org.assertj.core.api.Assertions.assertThat;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaCall;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.constant.ClassDesc;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Who may know whom. Every rule is also run on the package {@code crooked}, which breaks each of them. And docs/HOUSE.md names
 * every package, and nothing that is not there.
 */
class ArrowsTest {
    private static final Path ROOT = Path.of("..");
    private static final Pattern CODE = Pattern.compile("`([^`\n]+)`");
    private static final String PACKAGE = "(core|prediction|page|engine|train|lab|djl|examples)(\\.[a-z]+)*";
    private static final JavaClasses OURS = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("hypertransfer");

    /** The classes of {@code crooked}, each with what it knows: a field for each. */
    private static final String KNOWS = """
            crooked.core.Core crooked.engine.Engine picocli.CommandLine
            crooked.prediction.Prediction crooked.train.Train
            crooked.engine.Engine crooked.core.Core
            crooked.engine.cpu.Cpu crooked.engine.cuda.Cuda
            crooked.engine.cuda.Cuda
            crooked.engine.cuda.driver.Driver crooked.engine.cuda.Cuda
            crooked.engine.ranks.Ranks crooked.engine.cuda.Cuda
            crooked.train.Train crooked.lab.Lab jdk.incubator.vector.FloatVector java.lang.foreign.MemorySegment
            crooked.lab.Lab crooked.train.Train org.bytedeco.Blas java.lang.foreign.MemorySegment crooked.engine.cpu.Cpu
            crooked.lab.command.Command
            crooked.lab.experiment.Experiment crooked.lab.command.Command
            crooked.lab.report.Report crooked.lab.experiment.Experiment crooked.lab.command.Command
            crooked.lab.terminal.Terminal crooked.lab.report.Report
            """;

    private static JavaClasses crooked;

    @BeforeAll
    static void crooked(@TempDir Path folder) throws IOException {
        for (String line : KNOWS.lines().toList()) {
            List<ClassDesc> types =
                    Stream.of(line.split(" ")).map(ClassDesc::of).toList();
            ClassDesc own = types.getFirst();
            ClassFile.of().buildTo(folder.resolve(own.displayName() + ".class"), own, made -> {
                for (ClassDesc known : types.subList(1, types.size())) {
                    made.withField(known.displayName(), known, 0);
                }
            });
        }
        crooked = new ClassFileImporter().importPath(folder);
    }

    enum Rule {
        CORE_KNOWS_ONLY_THE_JDK("Core.Engine", "Core.CommandLine"),
        PREDICTION_KNOWS_CORE("Prediction.Train"),
        ENGINE_KNOWS_NOTHING_OF_OURS("Engine.Core"),
        TRAIN_KNOWS_CORE_AND_ENGINE("Train.Lab"),
        ENGINES_KNOW_NO_OTHER_ENGINE("Cpu.Cuda"),
        THE_CUDA_DRIVER_KNOWS_NO_ENGINE("Driver.Cuda"),
        ENGINES_ARE_OPENED_BY_NAME("Lab.Cpu", "Ranks.Cuda"),
        VECTORS_AND_BLAS_STAY_IN_ENGINE("Train.FloatVector", "Lab.Blas"),
        FOREIGN_MEMORY_STAYS_IN_ENGINE_AND_TRAIN("Lab.MemorySegment"),
        TERMINAL_KNOWS_NO_OTHER_PACKAGE_OF_LAB("Terminal.Report"),
        REPORT_KNOWS_NO_EXPERIMENT_AND_NO_COMMAND("Report.Experiment", "Report.Command"),
        EXPERIMENT_KNOWS_NO_COMMAND("Experiment.Command"),
        PACKAGES_HAVE_NO_CYCLES("Core.Engine", "Engine.Core", "Train.Lab", "Lab.Train");

        /** The fields of {@code crooked} that break this rule. */
        final List<String> culprits;

        Rule(String... culprits) {
            this.culprits = List.of(culprits);
        }

        ArchRule on(String root) {
            DescribedPredicate<JavaClass> jdk = resideInAPackage("java..");
            return switch (this) {
                case CORE_KNOWS_ONLY_THE_JDK ->
                    never(of(root, "core"), not(of(root, "core").or(jdk)));
                case PREDICTION_KNOWS_CORE ->
                    never(
                            of(root, "prediction"),
                            not(of(root, "prediction", "core").or(jdk)));
                case ENGINE_KNOWS_NOTHING_OF_OURS -> never(of(root, "engine"), outside(root, "engine"));
                case TRAIN_KNOWS_CORE_AND_ENGINE -> never(of(root, "train"), outside(root, "train", "core", "engine"));
                case ENGINES_KNOW_NO_OTHER_ENGINE ->
                    slices().matching(root + ".engine.(reference|cpu|cuda)..")
                            .should()
                            .notDependOnEachOther();
                case THE_CUDA_DRIVER_KNOWS_NO_ENGINE ->
                    never(
                            of(root, "engine.cuda.driver"),
                            outside(root, "engine.cuda.driver", "engine.foreign")
                                    .and(not(simpleName("EngineException"))));
                case ENGINES_ARE_OPENED_BY_NAME ->
                    never(
                            outside(root, "engine").or(of(root, "engine.ranks", "engine.foreign")),
                            of(root, "engine.reference", "engine.cpu", "engine.cuda"));
                case VECTORS_AND_BLAS_STAY_IN_ENGINE ->
                    never(outside(root, "engine"), resideInAnyPackage("jdk.incubator.vector..", "org.bytedeco.."));
                case FOREIGN_MEMORY_STAYS_IN_ENGINE_AND_TRAIN ->
                    never(outside(root, "engine", "train"), resideInAPackage("java.lang.foreign.."));
                case TERMINAL_KNOWS_NO_OTHER_PACKAGE_OF_LAB ->
                    never(of(root, "lab.terminal"), of(root, "lab").and(not(of(root, "lab.terminal"))));
                case REPORT_KNOWS_NO_EXPERIMENT_AND_NO_COMMAND ->
                    never(of(root, "lab.report"), of(root, "lab.experiment", "lab.command"));
                case EXPERIMENT_KNOWS_NO_COMMAND -> never(of(root, "lab.experiment"), of(root, "lab.command"));
                case PACKAGES_HAVE_NO_CYCLES ->
                    slices().matching(root + ".(**)").should().beFreeOfCycles();
            };
        }
    }

    private static ArchRule never(DescribedPredicate<JavaClass> these, DescribedPredicate<JavaClass> know) {
        return noClasses().that(these).should().dependOnClassesThat(know);
    }

    private static DescribedPredicate<JavaClass> of(String root, String... modules) {
        return resideInAnyPackage(
                Arrays.stream(modules).map(m -> root + "." + m + "..").toArray(String[]::new));
    }

    /** Our classes, except those modules. */
    private static DescribedPredicate<JavaClass> outside(String root, String... modules) {
        return resideInAPackage(root + "..").and(not(of(root, modules)));
    }

    /** Empty is allowed: a rule may speak of a package that has no class yet. */
    @ParameterizedTest
    @EnumSource
    void holds(Rule rule) {
        rule.on("hypertransfer").allowEmptyShould(true).check(OURS);
    }

    @ParameterizedTest
    @EnumSource
    void bites(Rule rule) {
        String complaint =
                rule.on("crooked").evaluate(crooked).getFailureReport().toString();
        for (String culprit : rule.culprits) {
            assertThat(complaint).contains("Field <crooked.").contains("." + culprit + ">");
        }
    }

    /** A command writes through {@code train.file.Atomic}, which leaves a whole file or none. Tests write as they like. */
    @Test
    void commandsWriteFilesInOneWay() {
        DescribedPredicate<JavaCall<?>> writes = DescribedPredicate.describe(
                "a call that opens a file for writing",
                call -> call.getTargetOwner().isEquivalentTo(Files.class)
                                && call.getName()
                                        .matches(
                                                "write|writeString|new(BufferedWriter|OutputStream|ByteChannel)|copy|move")
                        || call.getTargetOwner().isEquivalentTo(FileChannel.class)
                                && call.getName().equals("open"));
        ArchRule rule = noClasses().that(resideInAPackage("..lab..")).should().callCodeUnitWhere(writes);
        rule.check(OURS);
        JavaClasses tests = new ClassFileImporter().importClasses(Workshop.class);
        assertThat(rule.evaluate(tests).getFailureReport().toString()).contains("hypertransfer.lab.Workshop.make(");
    }

    /** A package is a room that one finds things in. */
    @Test
    void noPackageHasMoreThanSixteenClasses() {
        Map<String, Long> classes = OURS.stream()
                .filter(one -> one.isTopLevelClass() && !one.getSimpleName().equals("package-info"))
                .collect(Collectors.groupingBy(JavaClass::getPackageName, Collectors.counting()));
        assertThat(classes)
                .hasSizeGreaterThan(30)
                .allSatisfy((name, count) -> assertThat(count).as(name).isLessThanOrEqualTo(16));
    }

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
