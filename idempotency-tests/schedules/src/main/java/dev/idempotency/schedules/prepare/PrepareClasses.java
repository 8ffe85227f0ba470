/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.schedules.prepare;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Enumeration;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.ClassWriter;

/**
 * Prepares the classes that run under the scheduler: those of the JDK that measure a wait
 * themselves, and the jars of the libraries under test.
 */
public final class PrepareClasses {

	private PrepareClasses() {
	}

	/**
	 * Copy the classes of a folder, or the classes of a jar, with the changes.
	 * @param args the source and the target: two folders or two jars
	 * @throws IOException if a file cannot be read or written
	 */
	public static void main(String[] args) throws IOException {
		Path source = Path.of(args[0]);
		Path target = Path.of(args[1]);
		if (Files.isDirectory(source)) {
			patch(source, target);
		}
		else {
			copy(source, target);
		}
	}

	// Waits with a timeout read the real clock, although the time of the scheduler is
	// virtual. Periodic tasks would never run, and timeouts would end at once.
	private static void patch(Path source, Path target) throws IOException {
		List<Path> classes;
		try (Stream<Path> files = Files.walk(source)) {
			classes = files.filter((file) -> file.toString().endsWith(".class")).toList();
		}
		for (Path file : classes) {
			byte[] before = Files.readAllBytes(file);
			String name = file.getFileName().toString();
			byte[] after = change(before,
					(writer) -> new VirtualTime(ScheduledPark.isNeeded(name) ? new ScheduledPark(writer)
							: WithoutRegistry.isNeeded(name) ? new WithoutRegistry(writer) : writer));
			Path patched = target.resolve(source.relativize(file));
			Files.createDirectories(patched.getParent());
			if (!Arrays.equals(change(before, UnaryOperator.identity()), after)) {
				Files.write(patched, after);
			}
		}
	}

	private static void copy(Path source, Path target) throws IOException {
		try (ZipFile in = new ZipFile(source.toFile());
				ZipOutputStream out = new ZipOutputStream(Files.newOutputStream(target))) {
			Enumeration<? extends ZipEntry> entries = in.entries();
			while (entries.hasMoreElements()) {
				ZipEntry entry = entries.nextElement();
				out.putNextEntry(new ZipEntry(entry.getName()));
				copy(in, entry, out);
				out.closeEntry();
			}
		}
	}

	private static void copy(ZipFile in, ZipEntry entry, OutputStream out) throws IOException {
		try (InputStream content = in.getInputStream(entry)) {
			byte[] bytes = content.readAllBytes();
			boolean changes = entry.getName().endsWith(".class") && !entry.getName().endsWith("module-info.class");
			out.write(changes
					? change(bytes, (writer) -> new VirtualTime(new SeededTokens(new WithoutTypeAnnotations(writer))))
					: bytes);
		}
	}

	private static byte[] change(byte[] before, UnaryOperator<ClassVisitor> change) {
		ClassWriter writer = new ClassWriter(0);
		new ClassReader(before).accept(change.apply(writer), 0);
		return writer.toByteArray();
	}

}
