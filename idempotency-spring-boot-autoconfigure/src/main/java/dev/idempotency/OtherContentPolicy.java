/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency;

/**
 * The reaction to a duplicate whose content differs from that of the operation for which
 * its key stands. Such a record may be an operation of its own, because the key does not
 * identify the operation.
 *
 * @since 0.1.0
 */
public enum OtherContentPolicy {

	/**
	 * The default: {@link #REJECT} for a listener that declares a
	 * {@link Idempotent#fingerprint() fingerprint}; for others the policy of
	 * {@code idempotency.key.on-other-content}, which is {@link #REPORT} by default.
	 */
	DEFAULT,

	/**
	 * The record is a duplicate as any other, and it is reported: with a warning, at most
	 * once a minute for each listener, with the outcome {@code other_content} of its
	 * meter, and at the endpoint. If the listener declares no fingerprint, the content is
	 * the value of the record. A value whose canonical form cannot be computed is not
	 * compared.
	 */
	REPORT,

	/**
	 * The record is rejected with {@link IdempotencyKeyReusedException}: the error
	 * handler of the container passes it to its recoverer without retries. It requires a
	 * fingerprint.
	 */
	REJECT,

	/**
	 * The content is not compared.
	 */
	IGNORE

}
