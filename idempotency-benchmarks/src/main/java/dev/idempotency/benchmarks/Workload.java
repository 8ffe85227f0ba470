/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.benchmarks;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.UUID;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * The records of one round. Each partition begins with new keys that are not measured,
 * while the container starts. Later duplicates repeat them. A duplicate follows the first
 * record of its key in the same partition.
 *
 * @param round a letter that distinguishes the records of two rounds
 * @param partitions the number of partitions
 * @param perPartition the number of measured records per partition
 * @param duplicates the percentage of measured records that are duplicates
 */
record Workload(char round, int partitions, int perPartition, int duplicates) {

	private static final String HEADER = "Idempotency-Key";

	private static final char LEAD_IN = 'L';

	private static final char NEW = 'N';

	private static final char DUPLICATE = 'D';

	private static final String KIND = "benchmark-kind";

	// A duplicate has the content of the first record.
	private static final String PAYLOAD = "x".repeat(99);

	static Workload of(int round, int partitions, int records, int duplicates) {
		return new Workload((char) ('a' + round), partitions, Math.max(50, records / partitions), duplicates);
	}

	static String key(ConsumerRecord<?, ?> record) {
		return new String(record.headers().lastHeader(HEADER).value(), StandardCharsets.UTF_8);
	}

	static boolean isDuplicate(ConsumerRecord<?, ?> record) {
		return kind(record) == DUPLICATE;
	}

	static boolean isMeasured(ConsumerRecord<?, ?> record) {
		return kind(record) != LEAD_IN;
	}

	private static byte kind(ConsumerRecord<?, ?> record) {
		return record.headers().lastHeader(KIND).value()[0];
	}

	boolean contains(ConsumerRecord<?, ?> record) {
		return ((String) record.value()).charAt(0) == this.round;
	}

	int measured() {
		return this.partitions * this.perPartition;
	}

	int all() {
		return this.partitions * (leadIn() + this.perPartition);
	}

	// Limited to the size of the local cache.
	private int leadIn() {
		return Math.min(500, Math.max(50, this.perPartition / 10));
	}

	void send(Producer<String, String> producer, String topic) {
		SplittableRandom random = new SplittableRandom();
		List<List<String>> known = new ArrayList<>();
		for (int partition = 0; partition < this.partitions; partition++) {
			known.add(new ArrayList<>());
		}
		for (int i = -leadIn(); i < this.perPartition; i++) {
			for (int partition = 0; partition < this.partitions; partition++) {
				producer.send(next(topic, partition, i, known.get(partition), random));
			}
		}
		producer.flush();
	}

	private ProducerRecord<String, String> next(String topic, int partition, int index, List<String> known,
			SplittableRandom random) {
		if (index >= 0 && isDuplicate(index)) {
			return record(topic, partition, DUPLICATE, known.get(random.nextInt(known.size())));
		}
		String key = new UUID(random.nextLong(), random.nextLong()).toString();
		known.add(key);
		return record(topic, partition, (index < 0) ? LEAD_IN : NEW, key);
	}

	// Duplicates are spread evenly.
	private boolean isDuplicate(long index) {
		return (index + 1) * this.duplicates / 100 > index * this.duplicates / 100;
	}

	private ProducerRecord<String, String> record(String topic, int partition, char kind, String key) {
		ProducerRecord<String, String> record = new ProducerRecord<>(topic, partition, null, this.round + PAYLOAD);
		record.headers().add(KIND, new byte[] { (byte) kind });
		record.headers().add(HEADER, key.getBytes(StandardCharsets.UTF_8));
		return record;
	}

}
