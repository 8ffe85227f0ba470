/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.docs;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;

import com.google.protobuf.Message;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.kafka.common.serialization.Serializer;
import tools.jackson.databind.json.JsonMapper;

/**
 * Writes the values that the listeners of the examples receive, as the serializer of an
 * application does.
 */
public class AnyFormatSerializer implements Serializer<Object> {

	private final JsonMapper mapper = JsonMapper.builder().build();

	@Override
	public byte[] serialize(String topic, Object value) {
		if (value instanceof byte[] bytes) {
			return bytes;
		}
		if (value instanceof GenericRecord avro) {
			return avro(avro);
		}
		if (value instanceof Message protobuf) {
			return protobuf.toByteArray();
		}
		return (value instanceof String text) ? text.getBytes(StandardCharsets.UTF_8)
				: this.mapper.writeValueAsBytes(value);
	}

	static byte[] avro(GenericRecord avro) {
		ByteArrayOutputStream bytes = new ByteArrayOutputStream();
		try {
			BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(bytes, null);
			new GenericDatumWriter<GenericRecord>(avro.getSchema()).write(avro, encoder);
			encoder.flush();
			return bytes.toByteArray();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
