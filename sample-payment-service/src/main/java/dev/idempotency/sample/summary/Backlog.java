package dev.idempotency.sample.summary;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

import dev.idempotency.sample.payment.PaymentTopic;

/**
 * Tells what is still to be done: the payments to send, and the records that each
 * consumer group has before it.
 */
@Component
class Backlog {

	private static final List<String> GROUPS = List.of("ledger", "ledger-unprotected", "gateway");

	private static final String UNSENT = """
			select count(*) from payment where not sent
			""";

	private final JdbcClient jdbc;

	private final Admin kafka;

	Backlog(JdbcClient jdbc, Admin kafka) {
		this.jdbc = jdbc;
		this.kafka = kafka;
	}

	Map<String, Long> read() {
		Map<String, Long> backlog = new LinkedHashMap<>();
		backlog.put("unsent", this.jdbc.sql(UNSENT).query(Long.class).single());
		long sent = sent();
		GROUPS.forEach((group) -> backlog.put(group, sent - consumed(group)));
		return backlog;
	}

	private long sent() {
		List<TopicPartition> partitions = await(this.kafka.describeTopics(List.of(PaymentTopic.NAME)).allTopicNames())
			.values()
			.stream()
			.flatMap((topic) -> topic.partitions().stream())
			.map((partition) -> new TopicPartition(PaymentTopic.NAME, partition.partition()))
			.toList();
		Map<TopicPartition, OffsetSpec> ends = partitions.stream()
			.collect(Collectors.toMap((partition) -> partition, (partition) -> OffsetSpec.latest()));
		return await(this.kafka.listOffsets(ends).all()).values().stream().mapToLong((end) -> end.offset()).sum();
	}

	private long consumed(String group) {
		return await(this.kafka.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata()).values()
			.stream()
			.mapToLong((committed) -> committed.offset())
			.sum();
	}

	private <T> T await(KafkaFuture<T> answer) {
		return answer.toCompletionStage().toCompletableFuture().join();
	}

}
