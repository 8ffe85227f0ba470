package dev.idempotency;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.FieldSource;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.context.annotation.Bean;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.methods;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noFields;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

/**
 * Tests for the architecture of the library.
 */
class ArchitectureTests {

	private static final String ROOT = "dev.idempotency";

	private static final JavaClasses CLASSES = new ClassFileImporter()
		.withImportOption(new ImportOption.DoNotIncludeTests())
		.importPackages(ROOT);

	static final ArchRule[] RULES = {

			slices().matching("(**)").should().beFreeOfCycles(),

			classes().that()
				.resideInAPackage(ROOT)
				.should()
				.onlyDependOnClassesThat(JavaClass.Predicates.resideOutsideOfPackage(ROOT + "..")
					.or(JavaClass.Predicates.resideInAPackage(ROOT))),

			classes().that()
				.resideInAPackage(ROOT + ".store")
				.should()
				.onlyDependOnClassesThat(JavaClass.Predicates.resideOutsideOfPackage(ROOT + "..")
					.or(JavaClass.Predicates.resideInAnyPackage(ROOT, ROOT + ".store"))),

			// The outbox is the SPI of the stores for outbox messages.
			classes().that()
				.resideInAnyPackage(ROOT + ".jdbc..", ROOT + ".redis..", ROOT + ".memory..")
				.should()
				.onlyDependOnClassesThat(JavaClass.Predicates.resideOutsideOfPackage(ROOT + "..")
					.or(JavaClass.Predicates.resideInAnyPackage(ROOT, ROOT + ".store", ROOT + ".outbox",
							ROOT + ".jdbc..", ROOT + ".redis..", ROOT + ".memory.."))),

			noClasses().that()
				.resideInAnyPackage(ROOT, ROOT + ".store", ROOT + ".template", ROOT + ".outbox", ROOT + ".cleanup")
				.should()
				.dependOnClassesThat()
				.resideInAnyPackage("org.springframework.boot..", "org.springframework.kafka..",
						"org.springframework.jdbc..", "org.springframework.data..", "org.springframework.aop..",
						"io.micrometer..", "org.flywaydb..", "io.github.resilience4j..", "io.lettuce..",
						"com.github.benmanes..", "org.slf4j..", ROOT + ".listener..", ROOT + ".jackson..",
						ROOT + ".jdbc..", ROOT + ".redis..", ROOT + ".memory..", ROOT + ".micrometer..",
						ROOT + ".actuate..", ROOT + ".autoconfigure..", ROOT + ".resilience4j..", ROOT + ".caffeine..",
						ROOT + ".slf4j..", ROOT + ".producer.."),

			slices().matching(ROOT
					+ ".(listener|producer|jackson|jdbc|redis|dynamodb|memory|micrometer|actuate|resilience4j|caffeine|slf4j)..")
				.should()
				.notDependOnEachOther(),

			noClasses().that()
				.resideOutsideOfPackage(ROOT + ".autoconfigure..")
				.should()
				.dependOnClassesThat()
				.resideInAPackage("org.springframework.boot.autoconfigure.."),

			classes().that()
				.areAnnotatedWith(AutoConfiguration.class)
				.should()
				.bePublic()
				.andShould()
				.haveModifier(JavaModifier.FINAL)
				.andShould()
				.haveSimpleNameEndingWith("AutoConfiguration"),

			methods().that()
				.areAnnotatedWith(Bean.class)
				.should()
				.bePackagePrivate()
				.andShould()
				.notBeAnnotatedWith(ConditionalOnClass.class),

			noFields().should().beAnnotatedWith("org.springframework.beans.factory.annotation.Autowired") };

	@ParameterizedTest
	@FieldSource("RULES")
	void ruleHolds(ArchRule rule) {
		rule.check(CLASSES);
	}

}
