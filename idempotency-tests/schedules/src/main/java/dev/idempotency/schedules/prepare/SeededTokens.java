/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules.prepare;

import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

import dev.idempotency.schedules.Tokens;

/**
 * Replaces random UUIDs by numbered ones: an owner token decides the place of a claim in
 * a map, and so the order in which claims are processed.
 */
final class SeededTokens extends ClassVisitor {

	private static final String TOKENS = Tokens.class.getName().replace('.', '/');

	SeededTokens(ClassVisitor next) {
		super(Opcodes.ASM9, next);
	}

	@Override
	public MethodVisitor visitMethod(int access, String name, String descriptor, String signature,
			String[] exceptions) {
		return new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {

			@Override
			public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
				if (owner.equals("java/util/UUID") && name.equals("randomUUID")) {
					super.visitMethodInsn(opcode, TOKENS, "next", descriptor, isInterface);
				}
				else {
					super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
				}
			}

		};
	}

}
