/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.store;

import org.jspecify.annotations.Nullable;

/**
 * The end of a claim, which its owner records in the store: the operation has completed,
 * the handler has failed, or the claim is released.
 *
 * @since 0.1.0
 */
public sealed interface Ending {

	/**
	 * Return the claim.
	 * @return the request that acquired the key
	 */
	ClaimRequest claim();

	/**
	 * The operation has completed. The key is a duplicate from now on.
	 *
	 * @param claim the request that acquired the key
	 * @param result the result to replay, {@code null} for none
	 * @since 0.1.0
	 */
	record Completed(ClaimRequest claim, byte @Nullable [] result) implements Ending {

	}

	/**
	 * The handler failed. The key may be claimed again at once.
	 *
	 * @param claim the request that acquired the key
	 * @param failure the failure
	 * @since 0.1.0
	 */
	record Failed(ClaimRequest claim, Failure failure) implements Ending {

	}

	/**
	 * The handler was not run to its end, or its execution does not count. The key may be
	 * claimed again at once, and no attempt is counted.
	 *
	 * @param claim the request that acquired the key
	 * @since 0.1.0
	 */
	record Released(ClaimRequest claim) implements Ending {

	}

}
