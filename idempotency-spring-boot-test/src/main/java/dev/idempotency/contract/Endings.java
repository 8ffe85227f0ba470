/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.contract;

import java.util.List;

import org.jspecify.annotations.Nullable;

import dev.idempotency.store.ClaimRequest;
import dev.idempotency.store.Ending;
import dev.idempotency.store.Failure;

/**
 * Creates the endings of several claims that end in the same way.
 *
 * @since 0.1.0
 */
public final class Endings {

	private Endings() {
	}

	/**
	 * Complete operations.
	 * @param claims the requests that acquired the keys
	 * @param result the result of each operation, {@code null} for none
	 * @return the endings, in the order of the claims
	 */
	public static List<Ending> completed(List<ClaimRequest> claims, byte @Nullable [] result) {
		return claims.stream().<Ending>map((claim) -> new Ending.Completed(claim, result)).toList();
	}

	/**
	 * Let the handlers of claims fail.
	 * @param claims the requests that acquired the keys
	 * @param failure the failure
	 * @return the endings, in the order of the claims
	 */
	public static List<Ending> failed(List<ClaimRequest> claims, Failure failure) {
		return claims.stream().<Ending>map((claim) -> new Ending.Failed(claim, failure)).toList();
	}

	/**
	 * Release claims.
	 * @param claims the requests that acquired the keys
	 * @return the endings, in the order of the claims
	 */
	public static List<Ending> released(List<ClaimRequest> claims) {
		return claims.stream().<Ending>map(Ending.Released::new).toList();
	}

}
