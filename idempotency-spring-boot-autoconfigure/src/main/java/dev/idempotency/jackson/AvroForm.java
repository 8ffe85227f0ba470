/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.jackson;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;

import org.apache.avro.Conversions;
import org.apache.avro.Schema;
import org.apache.avro.data.TimeConversions;
import org.apache.avro.generic.GenericContainer;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.io.JsonEncoder;
import org.apache.avro.specific.SpecificData;
import org.apache.avro.specific.SpecificDatumWriter;
import org.apache.avro.specific.SpecificRecordBase;
import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.ValueSerializer;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.module.SimpleModule;

/**
 * Writes Avro data as the full name of its schema and Avro's JSON encoding. The fields of
 * a record are ordered by name, the entries of a map by key. Defaults, documentation and
 * aliases of the schema have no effect.
 */
final class AvroForm extends ValueSerializer<GenericContainer> {

	private static final JsonMapper JSON = JsonMapper.builder().build();

	// An application may represent values of logical types as objects or as numbers.
	private static final SpecificData MODEL = new SpecificData(AvroForm.class.getClassLoader());
	static {
		MODEL.addLogicalTypeConversion(new Conversions.DecimalConversion());
		MODEL.addLogicalTypeConversion(new Conversions.UUIDConversion());
		MODEL.addLogicalTypeConversion(new TimeConversions.DateConversion());
		MODEL.addLogicalTypeConversion(new TimeConversions.TimeMillisConversion());
		MODEL.addLogicalTypeConversion(new TimeConversions.TimeMicrosConversion());
		MODEL.addLogicalTypeConversion(new TimeConversions.TimestampMillisConversion());
		MODEL.addLogicalTypeConversion(new TimeConversions.TimestampMicrosConversion());
		MODEL.addLogicalTypeConversion(new TimeConversions.LocalTimestampMillisConversion());
		MODEL.addLogicalTypeConversion(new TimeConversions.LocalTimestampMicrosConversion());
	}

	static void addTo(SimpleModule module) {
		module.addSerializer(GenericContainer.class, new AvroForm());
	}

	@Override
	public void serialize(GenericContainer datum, JsonGenerator generator, SerializationContext context) {
		Schema schema = datum.getSchema();
		generator.writeStartObject();
		generator.writeStringProperty("schema", schema.getFullName());
		generator.writeName("datum");
		context.writeValue(generator, tree(schema, datum));
		generator.writeEndObject();
	}

	private static JsonNode tree(Schema schema, GenericContainer datum) {
		try {
			ByteArrayOutputStream bytes = new ByteArrayOutputStream();
			JsonEncoder encoder = EncoderFactory.get().jsonEncoder(schema, bytes);
			SpecificData model = (datum instanceof SpecificRecordBase specific) ? specific.getSpecificData() : MODEL;
			new SpecificDatumWriter<Object>(schema, model).write(datum, encoder);
			encoder.flush();
			return JSON.readTree(bytes.toByteArray());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
