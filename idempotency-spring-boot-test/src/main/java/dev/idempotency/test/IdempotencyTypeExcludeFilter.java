/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.test;

import java.io.IOException;

import org.springframework.boot.test.context.filter.annotation.StandardAnnotationCustomizableTypeExcludeFilter;
import org.springframework.core.type.AnnotationMetadata;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.classreading.MetadataReaderFactory;
import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;

/**
 * Leaves out all scanned components but those with listener methods.
 */
final class IdempotencyTypeExcludeFilter extends StandardAnnotationCustomizableTypeExcludeFilter<IdempotencyTest> {

	IdempotencyTypeExcludeFilter(Class<?> testClass) {
		super(testClass);
	}

	@Override
	protected boolean defaultInclude(MetadataReader reader, MetadataReaderFactory factory) throws IOException {
		AnnotationMetadata type = reader.getAnnotationMetadata();
		return has(type, KafkaListener.class.getName()) || has(type, Idempotent.class.getName())
				|| super.defaultInclude(reader, factory);
	}

	private static boolean has(AnnotationMetadata type, String annotation) {
		return type.isAnnotated(annotation) || type.hasAnnotatedMethods(annotation);
	}

}
