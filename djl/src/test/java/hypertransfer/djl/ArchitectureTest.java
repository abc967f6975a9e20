package hypertransfer.djl;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import org.junit.jupiter.api.Test;

/** The module stands on core and DJL's api, and on nothing else. */
class ArchitectureTest {
    @Test
    void dependsOnlyOnCoreAndDjlsApi() {
        JavaClasses ours = new ClassFileImporter()
                .withImportOption(new ImportOption.DoNotIncludeTests())
                .importPackages("hypertransfer.djl");
        classes()
                .should()
                .onlyDependOnClassesThat()
                .resideInAnyPackage(
                        "java..",
                        "hypertransfer.core",
                        "hypertransfer.djl..",
                        "ai.djl",
                        "ai.djl.ndarray..",
                        "ai.djl.nn",
                        "ai.djl.training..",
                        "ai.djl.util")
                .check(ours);
    }
}
