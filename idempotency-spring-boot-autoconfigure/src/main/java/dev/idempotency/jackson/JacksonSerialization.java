/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jackson;

import java.lang.reflect.Type;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.exc.InvalidDefinitionException;
import tools.jackson.databind.json.JsonMapper;

import dev.idempotency.IdempotencyConfigurationException;
import dev.idempotency.template.ResultCodec;
import dev.idempotency.template.Serialization;

/**
 * Serializes results as JSON, with the settings and modules of a given mapper. Default
 * typing is disabled, so that stored bytes never choose the class to instantiate.
 * Fingerprints are computed from a canonical form that does not depend on the settings of
 * the mapper. The canonical form also supports Avro and Protobuf values.
 *
 * @since 0.1.0
 */
public final class JacksonSerialization implements Serialization {

	private final JsonMapper mapper;

	private final CanonicalForm canonical;

	/**
	 * Create a serialization.
	 * @param mapper the mapper to copy; it is not changed
	 */
	public JacksonSerialization(JsonMapper mapper) {
		this.mapper = mapper.rebuild().deactivateDefaultTyping().build();
		this.canonical = new CanonicalForm(this.mapper);
	}

	@Override
	public ResultCodec<Object> codec(Type type) {
		JavaType javaType = this.mapper.constructType(type);
		requireReadable(javaType);
		return new ResultCodec<>() {

			@Override
			public byte @Nullable [] write(@Nullable Object result) {
				return (result != null) ? JacksonSerialization.this.mapper.writerFor(javaType).writeValueAsBytes(result)
						: null;
			}

			@Override
			public @Nullable Object read(byte[] bytes) {
				try {
					return JacksonSerialization.this.mapper.readerFor(javaType).readValue(bytes);
				}
				catch (InvalidDefinitionException ex) {
					throw new IdempotencyConfigurationException(ex.getOriginalMessage() + ".",
							"Change the result type so that Jackson can deserialize it.");
				}
			}

		};
	}

	// Only an invalid definition of the type is a reason to refuse it.
	private void requireReadable(JavaType type) {
		try {
			this.mapper.readerFor(type).readValue("{}");
		}
		catch (InvalidDefinitionException ex) {
			throw new IllegalArgumentException(ex.getOriginalMessage(), ex);
		}
		catch (RuntimeException ex) {
			// The JSON of the type is not an object, or has required properties.
		}
	}

	@Override
	public byte[] canonical(@Nullable Object value) {
		return this.canonical.write(value);
	}

	@Override
	public int canonicalVersion() {
		return CanonicalForm.VERSION;
	}

}
