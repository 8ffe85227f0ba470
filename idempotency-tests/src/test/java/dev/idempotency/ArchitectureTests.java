/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import com.tngtech.archunit.base.DescribedPredicate;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import org.junit.jupiter.api.Test;
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
import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the architecture of the library.
 */
class ArchitectureTests {

	private static final String ROOT = "dev.idempotency";

	private static final JavaClasses CLASSES = new ClassFileImporter()
		.withImportOption(new ImportOption.DoNotIncludeTests())
		.importPackages(ROOT);

	private static final String PRIMITIVES = "(Boolean|Byte|Char|Double|Float|Int|Long|Short)?";

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
				.resideInAnyPackage(ROOT + ".jdbc..", ROOT + ".redis..", ROOT + ".dynamodb..", ROOT + ".memory..")
				.should()
				.onlyDependOnClassesThat(JavaClass.Predicates.resideOutsideOfPackage(ROOT + "..")
					.or(JavaClass.Predicates.resideInAnyPackage(ROOT, ROOT + ".store", ROOT + ".outbox",
							ROOT + ".jdbc..", ROOT + ".redis..", ROOT + ".dynamodb..", ROOT + ".memory.."))),

			noClasses().that()
				.resideInAnyPackage(ROOT, ROOT + ".store", ROOT + ".template", ROOT + ".outbox", ROOT + ".cleanup",
						ROOT + ".reconcile", ROOT + ".migration")
				.should()
				.dependOnClassesThat()
				.resideInAnyPackage("org.springframework.boot..", "org.springframework.kafka..",
						"org.springframework.jdbc..", "org.springframework.data..", "org.springframework.aop..",
						"io.micrometer..", "org.flywaydb..", "io.github.resilience4j..", "io.lettuce..",
						"software.amazon..", "com.github.benmanes..", "org.slf4j..", ROOT + ".listener..",
						ROOT + ".jackson..", ROOT + ".jdbc..", ROOT + ".redis..", ROOT + ".dynamodb..",
						ROOT + ".memory..", ROOT + ".micrometer..", ROOT + ".actuate..", ROOT + ".autoconfigure..",
						ROOT + ".resilience4j..", ROOT + ".caffeine..", ROOT + ".slf4j..", ROOT + ".producer.."),

			slices().matching(ROOT
					+ ".(listener|producer|jackson|jdbc|redis|dynamodb|memory|micrometer|actuate|resilience4j|caffeine|slf4j)..")
				.should()
				.notDependOnEachOther(),

			noClasses().that()
				.resideOutsideOfPackages(ROOT + ".stream..", ROOT + ".autoconfigure..")
				.should()
				.dependOnClassesThat()
				.resideInAnyPackage(ROOT + ".stream..", "org.springframework.cloud..",
						"org.springframework.integration.."),

			classes().that()
				.resideInAPackage(ROOT + ".stream..")
				.should()
				.onlyDependOnClassesThat(JavaClass.Predicates.resideOutsideOfPackage(ROOT + "..")
					.or(JavaClass.Predicates.resideInAnyPackage(ROOT, ROOT + ".listener.function",
							ROOT + ".listener.setup", ROOT + ".listener.springkafka", ROOT + ".stream.."))),

			// One door to the hidden members of other libraries.
			noClasses().that()
				.resideOutsideOfPackage(ROOT + ".listener.springkafka")
				// These call a public getter of a type that the library is compiled
				// without, or that several libraries have.
				.and()
				.haveNameNotMatching(".*\\.(JdbcTransactionManagers|KafkaOutboxSerializer)")
				.should()
				.accessTargetWhere(new Members("java.lang.reflect.Field.(get|set)" + PRIMITIVES,
						"java.lang.reflect.Method.invoke", "java.lang.reflect.*.(trySetAccessible|setAccessible)",
						"java.lang.invoke.MethodHandles.privateLookupIn",
						"java.lang.invoke.MethodHandles.Lookup.(find|unreflect).*",
						"org.springframework.util.ReflectionUtils.(makeAccessible|(find|get|set|invoke)(Field|Method))",
						"org.springframework.beans.DirectFieldAccessor.*")),

			// The field is not final: see Repair.variable.
			noClasses().that()
				.doNotHaveFullyQualifiedName(ROOT + ".listener.springkafka.Repair$Members")
				.should()
				.accessTargetWhere(new Members("java.lang.reflect.Field.set" + PRIMITIVES,
						"org.springframework.util.ReflectionUtils.setField")),

			noClasses().that()
				.doNotHaveFullyQualifiedName(ROOT + ".listener.springkafka.RetainedPartitions")
				.should()
				.accessTargetWhere(new Members(ROOT + ".listener.springkafka.Repair.Members.set")),

			classes().that()
				.resideInAPackage(ROOT + ".listener.springkafka")
				.should()
				.onlyDependOnClassesThat(JavaClass.Predicates.resideOutsideOfPackage(ROOT + "..")
					.or(JavaClass.Predicates.resideInAnyPackage(ROOT, ROOT + ".listener.springkafka"))),

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

	@Test
	void eachTypeWithATypeOfSpringKafkaIsADecoratorThatIsTested() {
		Predicate<JavaClass> springKafka = (type) -> type.getPackageName().startsWith("org.springframework.kafka");
		assertThat(CLASSES).filteredOn((type) -> !type.getPackageName().startsWith(ROOT + ".stream"))
			.filteredOn((type) -> type.getAllRawInterfaces().stream().anyMatch(springKafka)
					|| type.getAllRawSuperclasses().stream().anyMatch(springKafka))
			.extracting(JavaClass::getSimpleName)
			.containsExactlyInAnyOrder(
					// DecoratorTests and ContainerProtectionTests
					"AttemptAware", "AsyncDelivery", "BatchPolls", "Batches", "BlockedAwareAfterRollbackProcessor",
					"BlockedAwareErrorHandler", "DelegatingAcknowledgment", "DeliveryListener", "HeldAcknowledgment",
					"ProtectingFactory", "RecordPolls", "Records",
					// These decorate nothing.
					"BatchAcknowledgment", "RejectedRecordException", "TolerantDeserializer");
	}

	/**
	 * Two types may know each other, for example a class and its builder.
	 */
	@Test
	void noCycleInsideAPackageHasMoreThanTwoTypes() {
		Map<String, Set<String>> dependencies = new TreeMap<>();
		for (JavaClass type : CLASSES) {
			Set<String> targets = dependencies.computeIfAbsent(topLevel(type), (name) -> new TreeSet<>());
			type.getDirectDependenciesFromSelf()
				.stream()
				.map((dependency) -> dependency.getTargetClass().getBaseComponentType())
				.filter((target) -> target.getPackageName().equals(type.getPackageName()))
				.map(ArchitectureTests::topLevel)
				.forEach(targets::add);
		}
		Map<String, Set<String>> reachable = new TreeMap<>();
		dependencies.keySet().forEach((type) -> reachable.put(type, reachable(type, dependencies)));
		Set<Set<String>> cycles = new HashSet<>();
		reachable.forEach((type,
				others) -> cycles.add(others.stream()
					.filter((other) -> reachable.get(other).contains(type))
					.collect(Collectors.toCollection(TreeSet::new))));
		assertThat(cycles).filteredOn((cycle) -> cycle.size() > 2).isEmpty();
	}

	private static Set<String> reachable(String type, Map<String, Set<String>> dependencies) {
		Set<String> reached = new TreeSet<>();
		Deque<String> next = new ArrayDeque<>(dependencies.get(type));
		while (!next.isEmpty()) {
			String current = next.pop();
			if (reached.add(current)) {
				next.addAll(dependencies.get(current));
			}
		}
		return reached;
	}

	private static String topLevel(JavaClass type) {
		JavaClass outer = type;
		while (outer.getEnclosingClass().isPresent()) {
			outer = outer.getEnclosingClass().get();
		}
		return outer.getName();
	}

	/**
	 * Matches accesses by the names of the members.
	 */
	private static final class Members extends DescribedPredicate<JavaAccess<?>> {

		private final Pattern names;

		Members(String... names) {
			super("one of %s", List.of(names));
			this.names = Pattern.compile(String.join("|", names));
		}

		@Override
		public boolean test(JavaAccess<?> access) {
			String name = access.getTargetOwner().getName() + "." + access.getName();
			return this.names.matcher(name.replace('$', '.')).matches();
		}

	}

}
