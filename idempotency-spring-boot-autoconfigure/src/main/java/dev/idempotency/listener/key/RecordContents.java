/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.listener.key;

import java.nio.charset.StandardCharsets;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.apache.kafka.common.utils.Bytes;
import org.jspecify.annotations.Nullable;

import dev.idempotency.OtherContentPolicy;
import dev.idempotency.store.Fingerprint;
import dev.idempotency.template.Serialization;

/**
 * Computes the fingerprints of the values of records, for a listener that declares no
 * fingerprint. The value is that of the record, before the listener adapter converts it,
 * so that it is known before the delivery too. Text and bytes are compared as they are.
 */
final class RecordContents {

	private static final Log logger = LogFactory.getLog("dev.idempotency.listener");

	private final boolean compared;

	private final @Nullable Serialization serialization;

	private final Set<Class<?>> unsuitable = ConcurrentHashMap.newKeySet();

	RecordContents(OtherContentPolicy policy, @Nullable Serialization serialization) {
		this.compared = policy == OtherContentPolicy.REPORT;
		this.serialization = serialization;
	}

	byte @Nullable [] fingerprint(@Nullable Object value, Object origin) {
		if (!this.compared || (value != null && this.unsuitable.contains(value.getClass()))) {
			return null;
		}
		try {
			return written(value);
		}
		catch (Throwable ex) {
			// Even a value that is too large must not be the reason why its record is not
			// processed.
			if (value != null && this.unsuitable.add(value.getClass())) {
				logger.info("The content of records with a value of " + value.getClass().getName()
						+ " is not compared, because it cannot be written as JSON: " + ex.getClass().getName() + " ("
						+ origin
						+ "). A key that is used for several operations is not noticed. Declare the 'fingerprint' of "
						+ "@Idempotent, or set its 'onOtherContent' to IGNORE");
			}
			return null;
		}
	}

	private byte @Nullable [] written(@Nullable Object value) {
		int version = (this.serialization != null) ? this.serialization.canonicalVersion() : 0;
		if (value instanceof String text) {
			return Fingerprint.ofReported(version, text.getBytes(StandardCharsets.UTF_8));
		}
		if (value instanceof byte[] bytes) {
			return Fingerprint.ofReported(version, bytes);
		}
		if (value instanceof Bytes bytes) {
			return Fingerprint.ofReported(version, bytes.get());
		}
		return (this.serialization != null) ? Fingerprint.ofReported(version, this.serialization.canonical(value))
				: null;
	}

}
