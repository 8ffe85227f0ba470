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
 * Lets the scheduler decide how long the threads of a fork-join pool are parked, among
 * them the one that ends the timeouts of futures. They park by a method that the
 * scheduler does not know.
 */
final class ScheduledPark extends ClassVisitor {

	private static final String UNSAFE = "jdk/internal/misc/Unsafe";

	ScheduledPark(ClassVisitor next) {
		super(Opcodes.ASM9, next);
	}

	static boolean isNeeded(String fileName) {
		return fileName.equals("DelayScheduler.class") || fileName.equals("ForkJoinPool.class");
	}

	@Override
	public MethodVisitor visitMethod(int access, String name, String descriptor, String signature,
			String[] exceptions) {
		return new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {

			// The replaced method has an object, which is dropped.
			@Override
			public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
				if (owner.equals(UNSAFE) && name.equals("park")) {
					super.visitMethodInsn(Opcodes.INVOKESTATIC, "org/pastalab/fray/runtime/Runtime",
							"onUnsafeThreadParkTimed", descriptor, false);
					visitInsn(Opcodes.POP);
				}
				else if (owner.equals(UNSAFE) && name.equals("unpark")) {
					visitTypeInsn(Opcodes.CHECKCAST, "java/lang/Thread");
					super.visitMethodInsn(Opcodes.INVOKESTATIC, "java/util/concurrent/locks/LockSupport", "unpark",
							"(Ljava/lang/Thread;)V", false);
					visitInsn(Opcodes.POP);
				}
				else {
					super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
				}
			}

		};
	}

}
