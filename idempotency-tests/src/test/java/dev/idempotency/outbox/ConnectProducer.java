/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.outbox;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.stream.Collectors;

import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.Converter;
import org.apache.kafka.connect.storage.ConverterConfig;
import org.apache.kafka.connect.storage.ConverterType;
import org.apache.kafka.connect.storage.HeaderConverter;

import dev.idempotency.testsupport.Servers;

/**
 * Converts and sends the records of a connector, as a Connect worker does.
 */
final class ConnectProducer implements AutoCloseable {

	private final Producer<byte[], byte[]> producer = new KafkaProducer<>(
			Map.of("bootstrap.servers", Servers.kafka().getBrokersAsString()), new ByteArraySerializer(),
			new ByteArraySerializer());

	private final Converter keys;

	private final Converter values;

	private final HeaderConverter headers;

	ConnectProducer(Map<String, String> connector) throws ClassNotFoundException {
		this.keys = Utils.newInstance(connector.get("key.converter"), Converter.class);
		this.keys.configure(below("key.converter.", connector), true);
		this.values = Utils.newInstance(connector.get("value.converter"), Converter.class);
		this.values.configure(below("value.converter.", connector), false);
		this.headers = Utils.newInstance(connector.get("header.converter"), HeaderConverter.class);
		Map<String, String> configuration = new HashMap<>(below("header.converter.", connector));
		configuration.put(ConverterConfig.TYPE_CONFIG, ConverterType.HEADER.getName());
		this.headers.configure(configuration);
	}

	private static Map<String, String> below(String prefix, Map<String, String> connector) {
		return connector.entrySet()
			.stream()
			.filter((property) -> property.getKey().startsWith(prefix))
			.collect(Collectors.toMap((property) -> property.getKey().substring(prefix.length()), Map.Entry::getValue));
	}

	void send(List<SourceRecord> records) throws InterruptedException {
		List<Future<RecordMetadata>> sent = records.stream()
			.map((record) -> this.producer.send(converted(record)))
			.toList();
		try {
			for (Future<RecordMetadata> record : sent) {
				record.get();
			}
		}
		catch (ExecutionException ex) {
			throw new IllegalStateException(ex.getCause());
		}
	}

	private ProducerRecord<byte[], byte[]> converted(SourceRecord source) {
		String topic = source.topic();
		ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(topic, source.kafkaPartition(), source.timestamp(),
				this.keys.fromConnectData(topic, source.keySchema(), source.key()),
				this.values.fromConnectData(topic, source.valueSchema(), source.value()));
		source.headers()
			.forEach((header) -> record.headers()
				.add(header.key(),
						this.headers.fromConnectHeader(topic, header.key(), header.schema(), header.value())));
		return record;
	}

	@Override
	public void close() {
		this.producer.close();
	}

}
