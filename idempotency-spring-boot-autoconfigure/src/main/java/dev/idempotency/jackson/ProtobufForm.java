/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jackson;

import java.io.IOException;
import java.io.UncheckedIOException;

import com.google.protobuf.CodedOutputStream;
import com.google.protobuf.MessageLite;
import com.google.protobuf.MessageOrBuilder;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.ValueSerializer;
import tools.jackson.databind.module.SimpleModule;

/**
 * Writes a Protobuf message as the full name of its type and its bytes. The serialization
 * is deterministic: the entries of a map are ordered by key.
 */
final class ProtobufForm extends ValueSerializer<MessageLite> {

	static void addTo(SimpleModule module) {
		module.addSerializer(MessageLite.class, new ProtobufForm());
	}

	@Override
	public void serialize(MessageLite message, JsonGenerator generator, SerializationContext context) {
		generator.writeStartObject();
		if (message instanceof MessageOrBuilder full) {
			generator.writeStringProperty("message", full.getDescriptorForType().getFullName());
		}
		generator.writeName("bytes");
		generator.writeBinary(bytes(message));
		generator.writeEndObject();
	}

	private static byte[] bytes(MessageLite message) {
		try {
			byte[] bytes = new byte[message.getSerializedSize()];
			CodedOutputStream output = CodedOutputStream.newInstance(bytes);
			output.useDeterministicSerialization();
			message.writeTo(output);
			return bytes;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
