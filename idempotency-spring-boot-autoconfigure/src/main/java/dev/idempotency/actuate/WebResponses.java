/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.actuate;

import java.security.Principal;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.OperationResponseBody;
import org.springframework.boot.actuate.endpoint.OperationType;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.invoke.MissingParametersException;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvoker;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvokerAdvisor;
import org.springframework.boot.actuate.endpoint.invoke.OperationParameter;
import org.springframework.boot.actuate.endpoint.invoke.OperationParameters;
import org.springframework.boot.actuate.endpoint.invoke.ParameterMappingException;
import org.springframework.boot.actuate.endpoint.web.WebEndpointResponse;
import org.springframework.util.Assert;
import org.springframework.util.MimeTypeUtils;

import dev.idempotency.ExceptionCauses;
import dev.idempotency.IdempotencyRecordUnreadableException;
import dev.idempotency.IdempotencyStoreRefusedException;
import dev.idempotency.IdempotencyStoreUnavailableException;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.store.IdempotencyRecords.Change;

/**
 * Checks the parameters of each operation of the endpoints of this library, and decides
 * the status of its response and the sentence of an error. Spring Boot ignores parameters
 * that it does not know, so that a filter with a typing error would select all records.
 *
 * @since 0.1.0
 */
public final class WebResponses implements OperationInvokerAdvisor {

	static final int ACCEPTED = 202;

	static final int CONFLICT = 409;

	private static final int NOT_IMPLEMENTED = 501;

	private static final Set<EndpointId> ENDPOINTS = Set.of(EndpointId.of(IdempotencyEndpoint.ID),
			EndpointId.of(OutboxEndpoint.ID), EndpointId.of(ReconciliationEndpoint.ID));

	@Override
	public OperationInvoker apply(EndpointId endpointId, OperationType operationType, OperationParameters parameters,
			OperationInvoker invoker) {
		if (!ENDPOINTS.contains(endpointId)) {
			return invoker;
		}
		Set<String> names = parameters.stream().map(OperationParameter::getName).collect(Collectors.toSet());
		return (context) -> of(() -> {
			context.getArguments().forEach((name, value) -> check(names, name, value));
			return invoker.invoke(context);
		});
	}

	// Databases cannot store a NUL character.
	private static void check(Set<String> names, String name, @Nullable Object value) {
		Assert.isTrue(names.contains(name), () -> "There is no parameter '" + name + "'. Correct its name");
		Assert.isTrue(!(value instanceof String text) || text.indexOf('\0') < 0,
				() -> "'" + name + "' has a NUL character. Remove it");
	}

	static WebEndpointResponse<?> of(Supplier<? extends @Nullable Object> operation) {
		try {
			Object body = operation.get();
			if (body == null) {
				return problem("No such record, view or action", WebEndpointResponse.STATUS_NOT_FOUND);
			}
			return (body instanceof WebEndpointResponse<?> response) ? response
					: new WebEndpointResponse<>(body, (body instanceof ChangeDescriptor change)
							? status(change.outcome()) : WebEndpointResponse.STATUS_OK);
		}
		catch (MissingParametersException ex) {
			return problem("These parameters are missing: " + ex.getMissingParameters()
				.stream()
				.map((parameter) -> "'" + parameter.getName() + "'")
				.collect(Collectors.joining(", ")), WebEndpointResponse.STATUS_BAD_REQUEST);
		}
		catch (ParameterMappingException ex) {
			return problem(
					"'" + ex.getParameter().getName() + "' cannot be read: " + ExceptionCauses.last(ex).getMessage(),
					WebEndpointResponse.STATUS_BAD_REQUEST);
		}
		catch (IllegalArgumentException ex) {
			return problem(ex.getMessage(), WebEndpointResponse.STATUS_BAD_REQUEST);
		}
		catch (UnsupportedOperationException ex) {
			return problem(ex.getMessage(), NOT_IMPLEMENTED);
		}
		catch (OperationInProgressException | IdempotencyRecordUnreadableException ex) {
			return problem(ex.getMessage(), CONFLICT);
		}
		catch (IdempotencyStoreUnavailableException | IdempotencyStoreRefusedException ex) {
			return problem(ex.getMessage(), WebEndpointResponse.STATUS_SERVICE_UNAVAILABLE);
		}
	}

	private static int status(Change outcome) {
		return switch (outcome) {
			case DONE -> WebEndpointResponse.STATUS_OK;
			case ABSENT -> WebEndpointResponse.STATUS_NOT_FOUND;
			case ALIVE, PENDING, COMPLETED -> CONFLICT;
		};
	}

	// The operation may produce another type.
	static WebEndpointResponse<?> problem(@Nullable String sentence, int status) {
		return new WebEndpointResponse<>(new Problem(String.valueOf(sentence)), status, MimeTypeUtils.APPLICATION_JSON);
	}

	static int limit(@Nullable Integer limit, int byDefault, int min, int max) {
		int size = (limit != null) ? limit : byDefault;
		Assert.isTrue(size >= min && size <= max,
				() -> "'limit' is " + size + ". Set it to a value from " + min + " to " + max);
		return size;
	}

	// A parameter of another view or action would be ignored without a word.
	static void assertUnused(String operation, List<String> names, @Nullable Object... values) {
		for (int i = 0; i < values.length; i++) {
			String name = names.get(i);
			Assert.isNull(values[i], () -> "'" + name + "' is not a parameter of '" + operation + "'. Remove it");
		}
	}

	static @Nullable String user(SecurityContext context) {
		Principal principal = context.getPrincipal();
		return (principal != null) ? principal.getName() : null;
	}

	/**
	 * The body of a response to a change.
	 */
	interface ChangeDescriptor extends OperationResponseBody {

		Change outcome();

	}

	/**
	 * The body of an error response.
	 *
	 * @param error the reason in a sentence
	 */
	record Problem(String error) implements OperationResponseBody {

	}

}
