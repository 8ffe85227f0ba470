/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import java.time.DateTimeException;
import java.time.Instant;
import java.util.Comparator;
import java.util.UUID;

import org.springframework.util.Assert;

import dev.idempotency.Internal;

/**
 * The end of a page of records in the order of expiry.
 *
 * @param expiresAt the expiry of the last record
 * @param id the id of its key
 * @since 0.1.0
 */
@Internal
public record PagePosition(Instant expiresAt, UUID id) implements Comparable<PagePosition> {

	/**
	 * The position before every record, in the order from the earliest expiry.
	 */
	public static final PagePosition FIRST = new PagePosition(Instant.EPOCH, new UUID(0, 0));

	/**
	 * The position after every record.
	 */
	public static final PagePosition LAST = new PagePosition(Instant.parse("9999-12-31T00:00:00Z"), new UUID(-1, -1));

	private static final char SEPARATOR = '_';

	private static final Comparator<PagePosition> ORDER = Comparator.comparing(PagePosition::expiresAt)
		.thenComparing(PagePosition::id);

	/**
	 * Return the position of a record.
	 * @param record the record
	 * @return the position
	 */
	public static PagePosition of(IdempotencyRecord record) {
		return new PagePosition(record.expiresAt(), record.key().id());
	}

	/**
	 * Read a position.
	 * @param text the text of a position
	 * @return the position
	 */
	public static PagePosition parse(String text) {
		try {
			int separator = text.indexOf(SEPARATOR);
			Instant expiresAt = Instant.parse(text.substring(0, Math.max(0, separator)));
			Assert.isTrue(!expiresAt.isBefore(FIRST.expiresAt) && !expiresAt.isAfter(LAST.expiresAt),
					"The time is out of the range of a column");
			return new PagePosition(expiresAt, UUID.fromString(text.substring(separator + 1)));
		}
		catch (DateTimeException | IllegalArgumentException ex) {
			throw new IllegalArgumentException("'after' is '" + text + "', which is not the end of a page. "
					+ "Use 'next' of the previous answer, or begin without 'after'", ex);
		}
	}

	@Override
	public int compareTo(PagePosition other) {
		return ORDER.compare(this, other);
	}

	@Override
	public String toString() {
		return this.expiresAt.toString() + SEPARATOR + this.id;
	}

}
