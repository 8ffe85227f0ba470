/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules.prepare;

import org.objectweb.asm.AnnotationVisitor;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.FieldVisitor;
import org.objectweb.asm.Label;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.RecordComponentVisitor;
import org.objectweb.asm.TypePath;

/**
 * Removes type annotations such as {@code @Nullable}: the agent of the scheduler cannot
 * read records that have them.
 */
final class WithoutTypeAnnotations extends ClassVisitor {

	WithoutTypeAnnotations(ClassVisitor next) {
		super(Opcodes.ASM9, next);
	}

	@Override
	public AnnotationVisitor visitTypeAnnotation(int type, TypePath path, String descriptor, boolean visible) {
		return null;
	}

	@Override
	public RecordComponentVisitor visitRecordComponent(String name, String descriptor, String signature) {
		return new RecordComponentVisitor(Opcodes.ASM9, super.visitRecordComponent(name, descriptor, signature)) {

			@Override
			public AnnotationVisitor visitTypeAnnotation(int type, TypePath path, String descriptor, boolean visible) {
				return null;
			}

		};
	}

	@Override
	public FieldVisitor visitField(int access, String name, String descriptor, String signature, Object value) {
		return new FieldVisitor(Opcodes.ASM9, super.visitField(access, name, descriptor, signature, value)) {

			@Override
			public AnnotationVisitor visitTypeAnnotation(int type, TypePath path, String descriptor, boolean visible) {
				return null;
			}

		};
	}

	@Override
	public MethodVisitor visitMethod(int access, String name, String descriptor, String signature,
			String[] exceptions) {
		return new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {

			@Override
			public AnnotationVisitor visitTypeAnnotation(int type, TypePath path, String descriptor, boolean visible) {
				return null;
			}

			@Override
			public AnnotationVisitor visitInsnAnnotation(int type, TypePath path, String descriptor, boolean visible) {
				return null;
			}

			@Override
			public AnnotationVisitor visitTryCatchAnnotation(int type, TypePath path, String descriptor,
					boolean visible) {
				return null;
			}

			@Override
			public AnnotationVisitor visitLocalVariableAnnotation(int type, TypePath path, Label[] start, Label[] end,
					int[] index, String descriptor, boolean visible) {
				return null;
			}

		};
	}

}
