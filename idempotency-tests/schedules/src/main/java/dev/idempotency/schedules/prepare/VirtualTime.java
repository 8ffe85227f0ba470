/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules.prepare;

import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.Handle;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/**
 * Lets a class read the virtual time of the scheduler where it calls
 * {@link System#nanoTime()}, also by a method reference, which the agent of the scheduler
 * does not replace.
 */
final class VirtualTime extends ClassVisitor {

	private static final String RUNTIME = "org/pastalab/fray/runtime/Runtime";

	private static final String NANO_TIME = "onNanoTime";

	VirtualTime(ClassVisitor next) {
		super(Opcodes.ASM9, next);
	}

	@Override
	public MethodVisitor visitMethod(int access, String name, String descriptor, String signature,
			String[] exceptions) {
		return new MethodVisitor(Opcodes.ASM9, super.visitMethod(access, name, descriptor, signature, exceptions)) {

			@Override
			public void visitMethodInsn(int opcode, String owner, String name, String descriptor, boolean isInterface) {
				if (isNanoTime(owner, name)) {
					super.visitMethodInsn(opcode, RUNTIME, NANO_TIME, descriptor, isInterface);
				}
				else {
					super.visitMethodInsn(opcode, owner, name, descriptor, isInterface);
				}
			}

			@Override
			public void visitInvokeDynamicInsn(String name, String descriptor, Handle bootstrap, Object... arguments) {
				Object[] changed = arguments.clone();
				for (int i = 0; i < changed.length; i++) {
					if (changed[i] instanceof Handle handle && isNanoTime(handle.getOwner(), handle.getName())) {
						changed[i] = new Handle(handle.getTag(), RUNTIME, NANO_TIME, handle.getDesc(), false);
					}
				}
				super.visitInvokeDynamicInsn(name, descriptor, bootstrap, changed);
			}

		};
	}

	private static boolean isNanoTime(String owner, String name) {
		return owner.equals("java/lang/System") && name.equals("nanoTime");
	}

}
