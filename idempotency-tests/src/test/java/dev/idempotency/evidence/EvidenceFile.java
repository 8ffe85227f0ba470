/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.evidence;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

import tools.jackson.databind.json.JsonMapper;

/**
 * The results, one JSON object in each line. A result is on the disk before the next run
 * starts, so a command can be interrupted at any time.
 */
final class EvidenceFile {

	private static final JsonMapper JSON = JsonMapper.shared();

	private final Path path;

	EvidenceFile(Path path) {
		this.path = path;
	}

	List<EvidenceRow> read() throws IOException {
		if (!Files.exists(this.path)) {
			return List.of();
		}
		return Files.readAllLines(this.path)
			.stream()
			.filter((line) -> !line.isBlank())
			.map((line) -> JSON.readValue(line, EvidenceRow.class))
			.toList();
	}

	void add(EvidenceRow row) throws IOException {
		Files.createDirectories(this.path.getParent());
		ByteBuffer line = ByteBuffer.wrap((JSON.writeValueAsString(row) + "\n").getBytes(StandardCharsets.UTF_8));
		try (FileChannel channel = FileChannel.open(this.path, StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
			channel.write(line);
			channel.force(true);
		}
	}

}
