/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.domain.JavaCodeUnit;
import com.tngtech.archunit.core.domain.JavaMember;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.Location;
import org.junit.jupiter.api.Test;

import dev.idempotency.testsupport.Library;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the API: the public types and their members that are not {@link Internal}.
 * {@code docs/api.md} says what is promised for them.
 */
class ApiTests {

	private static final Path RECORDED = Path.of("src/test/resources/api.txt");

	private static final int MAX_TYPES = 75;

	private static final JavaClasses CLASSES = new ClassFileImporter().withImportOption(ApiTests::isMain)
		.importPackages(Internal.class.getPackageName());

	private static final List<JavaClass> TYPES = CLASSES.stream().filter(ApiTests::isApi).toList();

	@Test
	void apiIsAsRecorded() throws IOException {
		String api = String.join("\n", TYPES.stream().flatMap(ApiTests::describe).sorted().toList()) + "\n";
		if (System.getProperty("test.write-docs") != null) {
			Files.writeString(RECORDED, api);
		}
		assertThat(api).as("The API has changed. If that is intended, write it with -Dtest.write-docs")
			.isEqualTo(Files.readString(RECORDED));
	}

	@Test
	void apiIsSmall() {
		assertThat(TYPES.stream().filter(JavaClass::isTopLevelClass)).hasSizeLessThanOrEqualTo(MAX_TYPES);
	}

	@Test
	void apiRefersToNoInternalType() {
		Set<String> internal = new TreeSet<>();
		TYPES.forEach((type) -> members(type).filter((member) -> member instanceof JavaCodeUnit)
			.forEach((member) -> ((JavaCodeUnit) member).getAllInvolvedRawTypes()
				.stream()
				.map(JavaClass::getBaseComponentType)
				.filter((used) -> used.getPackageName().startsWith(Internal.class.getPackageName()))
				.filter((used) -> !isApi(used))
				.forEach((used) -> internal.add(member.getFullName() + " uses " + used.getName()))));
		assertThat(internal).isEmpty();
	}

	private static boolean isMain(Location location) {
		return location.contains(Library.CLASSES.toString());
	}

	private static boolean isApi(JavaClass type) {
		Optional<JavaClass> enclosing = type.getEnclosingClass();
		return type.getModifiers().contains(JavaModifier.PUBLIC) && !type.isAnnotatedWith(Internal.class)
				&& (enclosing.isPresent() ? isApi(enclosing.get())
						: !CLASSES.getPackage(type.getPackageName()).isAnnotatedWith(Internal.class));
	}

	private static Stream<String> describe(JavaClass type) {
		return Stream.concat(Stream.of(type.getName()), members(type).map((member) -> member.getFullName() + ": "
				+ ((member instanceof JavaCodeUnit unit) ? unit.getRawReturnType() : member.getDescriptor())));
	}

	private static Stream<? extends JavaMember> members(JavaClass type) {
		return type.getMembers()
			.stream()
			.filter((member) -> !member.isAnnotatedWith(Internal.class))
			.filter((member) -> member.getModifiers().contains(JavaModifier.PUBLIC)
					|| (member.getModifiers().contains(JavaModifier.PROTECTED)
							&& !type.getModifiers().contains(JavaModifier.FINAL)))
			.filter((member) -> !member.getModifiers().contains(JavaModifier.SYNTHETIC)
					&& !member.getModifiers().contains(JavaModifier.BRIDGE));
	}

}
