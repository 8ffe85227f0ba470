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

/**
 * Keeps thread pools out of the global registry of the JDK. Its places depend on the
 * addresses of objects, and each access would be a decision of the scheduler, so a seed
 * would not repeat its schedule.
 */
final class WithoutRegistry extends ClassVisitor {

	WithoutRegistry(ClassVisitor next) {
		super(Opcodes.ASM9, next);
	}

	static boolean isNeeded(String fileName) {
		return fileName.equals("ThreadContainers.class");
	}

	@Override
	public MethodVisitor visitMethod(int access, String name, String descriptor, String signature,
			String[] exceptions) {
		return new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {

			// Drops the set and the element. Nothing has changed then.
			@Override
			public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
				if (owner.equals("java/util/Set") && (name.equals("add") || name.equals("remove"))) {
					visitInsn(Opcodes.POP2);
					visitInsn(Opcodes.ICONST_0);
				}
				else {
					super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
				}
			}

		};
	}

}
