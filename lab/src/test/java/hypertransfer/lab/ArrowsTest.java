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
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Who may know whom. Every rule is also run on the package {@code crooked}, which breaks each of them. */
class ArrowsTest {
    private static final JavaClasses OURS = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .importPackages("hypertransfer");
    private static final JavaClasses CROOKED = new ClassFileImporter().importPackages("crooked");

    enum Rule {
        CORE_KNOWS_ONLY_THE_JDK("Core.engine", "Core.library"),
        PREDICTION_KNOWS_CORE("Prediction.train"),
        ENGINE_KNOWS_NOTHING_OF_OURS("Engine.core"),
        TRAIN_KNOWS_CORE_AND_ENGINE("Train.lab"),
        ENGINES_KNOW_NO_OTHER_ENGINE("Cpu.other"),
        THE_CUDA_DRIVER_KNOWS_NO_ENGINE("Driver.cuda"),
        ENGINES_ARE_OPENED_BY_NAME("Lab.engine", "Ranks.engine"),
        VECTORS_AND_BLAS_STAY_IN_ENGINE("Train.vector", "Lab.blas"),
        FOREIGN_MEMORY_STAYS_IN_ENGINE_AND_TRAIN("Lab.memory"),
        TERMINAL_KNOWS_NO_OTHER_PACKAGE_OF_LAB("Terminal.report"),
        REPORT_KNOWS_NO_EXPERIMENT_AND_NO_COMMAND("Report.experiment", "Report.command"),
        EXPERIMENT_KNOWS_NO_COMMAND("Experiment.command"),
        PACKAGES_HAVE_NO_CYCLES("Core.engine", "Engine.core", "Train.lab", "Lab.train");

        /** The fields of {@code crooked} that break this rule. */
        final List<String> culprits;

        Rule(String... culprits) {
            this.culprits = List.of(culprits);
        }

        ArchRule on(String root) {
            return switch (this) {
                case CORE_KNOWS_ONLY_THE_JDK ->
                    noClasses()
                            .that(of(root, "core"))
                            .should()
                            .dependOnClassesThat(not(of(root, "core").or(resideInAPackage("java.."))));
                case PREDICTION_KNOWS_CORE ->
                    noClasses()
                            .that(of(root, "prediction"))
                            .should()
                            .dependOnClassesThat(
                                    not(of(root, "prediction", "core").or(resideInAPackage("java.."))));
                case ENGINE_KNOWS_NOTHING_OF_OURS ->
                    noClasses().that(of(root, "engine")).should().dependOnClassesThat(outside(root, "engine"));
                case TRAIN_KNOWS_CORE_AND_ENGINE ->
                    noClasses()
                            .that(of(root, "train"))
                            .should()
                            .dependOnClassesThat(outside(root, "train", "core", "engine"));
                case ENGINES_KNOW_NO_OTHER_ENGINE ->
                    slices().matching(root + ".engine.(reference|cpu|cuda)..")
                            .should()
                            .notDependOnEachOther();
                case THE_CUDA_DRIVER_KNOWS_NO_ENGINE ->
                    noClasses()
                            .that(of(root, "engine.cuda.driver"))
                            .should()
                            .dependOnClassesThat(outside(root, "engine.cuda.driver", "engine.foreign")
                                    .and(not(simpleName("EngineException"))));
                case ENGINES_ARE_OPENED_BY_NAME ->
                    noClasses()
                            .that(outside(root, "engine").or(of(root, "engine.ranks", "engine.foreign")))
                            .should()
                            .dependOnClassesThat(of(root, "engine.reference", "engine.cpu", "engine.cuda"));
                case VECTORS_AND_BLAS_STAY_IN_ENGINE ->
                    noClasses()
                            .that(outside(root, "engine"))
                            .should()
                            .dependOnClassesThat(resideInAnyPackage("jdk.incubator.vector..", "org.bytedeco.."));
                case FOREIGN_MEMORY_STAYS_IN_ENGINE_AND_TRAIN ->
                    noClasses()
                            .that(outside(root, "engine", "train"))
                            .should()
                            .dependOnClassesThat(resideInAPackage("java.lang.foreign.."));
                case TERMINAL_KNOWS_NO_OTHER_PACKAGE_OF_LAB ->
                    noClasses()
                            .that(of(root, "lab.terminal"))
                            .should()
                            .dependOnClassesThat(of(root, "lab").and(not(of(root, "lab.terminal"))));
                case REPORT_KNOWS_NO_EXPERIMENT_AND_NO_COMMAND ->
                    noClasses()
                            .that(of(root, "lab.report"))
                            .should()
                            .dependOnClassesThat(of(root, "lab.experiment", "lab.command"));
                case EXPERIMENT_KNOWS_NO_COMMAND ->
                    noClasses().that(of(root, "lab.experiment")).should().dependOnClassesThat(of(root, "lab.command"));
                case PACKAGES_HAVE_NO_CYCLES ->
                    slices().matching(root + ".(**)").should().beFreeOfCycles();
            };
        }
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
                rule.on("crooked").evaluate(CROOKED).getFailureReport().toString();
        for (String culprit : rule.culprits) {
            assertThat(complaint).contains("Field <crooked.").contains("." + culprit + ">");
        }
    }

    /** A command writes through {@code train.file.Atomic}, which leaves a whole file or none. */
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
        assertThat(rule.evaluate(CROOKED).getFailureReport().toString()).contains("crooked.lab.Lab.write(");
    }

    /** A package is a room that one finds things in. */
    @Test
    void noPackageHasMoreThanSeventeenClasses() {
        Map<String, Long> classes = OURS.stream()
                .filter(one -> one.isTopLevelClass() && !one.getSimpleName().equals("package-info"))
                .collect(Collectors.groupingBy(JavaClass::getPackageName, Collectors.counting()));
        assertThat(classes)
                .hasSizeGreaterThan(30)
                .allSatisfy((name, count) -> assertThat(count).as(name).isLessThanOrEqualTo(16));
    }
}
