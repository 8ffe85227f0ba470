/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jdbc;

import java.util.ArrayList;
import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.Ending;

/**
 * Splits endings of claims into groups that one statement can record, in their order: the
 * endings of a group have one kind, their failures are equal, and their results fit into
 * one statement. The library sends one kind only, so that most calls are one group.
 *
 * @param maxResultBytes how many bytes of results one statement may contain
 */
record EndingGroups(long maxResultBytes) {

	<E extends Ending> List<List<E>> of(List<E> endings) {
		if (endings.size() == 1) {
			return List.of(endings);
		}
		List<List<E>> groups = new ArrayList<>();
		int from = 0;
		long bytes = 0;
		for (int i = 0; i < endings.size(); i++) {
			int size = size(endings.get(i));
			if (i > from && (bytes + size > this.maxResultBytes || !isSame(endings.get(from), endings.get(i)))) {
				groups.add(endings.subList(from, i));
				from = i;
				bytes = 0;
			}
			bytes += size;
		}
		if (from < endings.size()) {
			groups.add(endings.subList(from, endings.size()));
		}
		return groups;
	}

	static byte @Nullable [] result(Ending ending) {
		return (ending instanceof Ending.Completed completed) ? completed.result() : null;
	}

	private static int size(Ending ending) {
		byte[] result = result(ending);
		return (result != null) ? result.length : 0;
	}

	private static boolean isSame(Ending one, Ending other) {
		return (one instanceof Ending.Failed failed)
				? other instanceof Ending.Failed another && failed.failure().equals(another.failure())
				: one.getClass() == other.getClass();
	}

}
