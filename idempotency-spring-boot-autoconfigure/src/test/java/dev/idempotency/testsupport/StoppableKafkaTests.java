package dev.idempotency.testsupport;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

@Order(3)
class StoppableKafkaTests {

	private static final TopicPartition PARTITION = new TopicPartition("topic", 0);

	private static final Duration BACK = Duration.ofSeconds(30);

	private final StoppableKafka kafka = StoppableKafka.create();

	private final List<String> seen = new ArrayList<>();

	@BeforeEach
	void create() {
		this.kafka.createTopic(PARTITION.topic(), 1);
	}

	@AfterEach
	void close() {
		this.kafka.close();
	}

	@Test
	void dataAndGroupSurviveAndClientsGoOnByThemselves() throws Exception {
		try (Producer<String, String> producer = producer(Map.of());
				KafkaConsumer<String, String> consumer = consumer()) {
			consumer.subscribe(List.of(PARTITION.topic()));
			send(producer, "first").get();
			receive(consumer, "first");
			int generation = consumer.groupMetadata().generationId();
			for (int i = 1; i <= 2; i++) {
				this.kafka.stop();
				Future<RecordMetadata> waiting = sendSoon(producer, "sent while stopped " + i);
				this.kafka.start();
				assertThat(committed(consumer)).isEqualTo(this.seen.size());
				waiting.get(BACK.toSeconds(), TimeUnit.SECONDS);
				receive(consumer, "sent while stopped " + i);
				assertThat(committed(consumer)).isEqualTo(i + 1);
			}
			assertThat(consumer.groupMetadata().generationId()).isEqualTo(generation);
		}
		List<String> sent = List.of("first", "sent while stopped 1", "sent while stopped 2");
		assertThat(this.seen).isEqualTo(sent);
		this.seen.clear();
		try (KafkaConsumer<String, String> consumer = consumer()) {
			consumer.assign(List.of(PARTITION));
			consumer.seekToBeginning(List.of(PARTITION));
			await().atMost(BACK).until(() -> poll(consumer).size() == sent.size());
		}
		assertThat(this.seen).isEqualTo(sent);
	}

	@Test
	void sendFailsWhileItIsStoppedOrFrozen() throws Exception {
		try (Producer<String, String> producer = producer(
				Map.of("max.block.ms", 500, "request.timeout.ms", 500, "delivery.timeout.ms", 1000))) {
			await().atMost(BACK).ignoreExceptions().until(() -> send(producer, "first").get().hasOffset());
			this.kafka.freeze();
			assertThatThrownBy(() -> send(producer, "frozen").get()).isInstanceOf(ExecutionException.class)
				.hasCauseInstanceOf(TimeoutException.class);
			this.kafka.resume();
			await().atMost(BACK).ignoreExceptions().until(() -> send(producer, "resumed").get().hasOffset());
			this.kafka.stop();
			assertThatThrownBy(() -> send(producer, "stopped").get()).isInstanceOf(ExecutionException.class)
				.hasCauseInstanceOf(TimeoutException.class);
		}
	}

	private void receive(KafkaConsumer<String, String> consumer, String value) {
		await().atMost(BACK).until(() -> poll(consumer).contains(value));
		consumer.commitSync(BACK);
	}

	private List<String> poll(KafkaConsumer<String, String> consumer) {
		consumer.poll(Duration.ofMillis(100)).forEach((record) -> this.seen.add(record.value()));
		return this.seen;
	}

	private static long committed(KafkaConsumer<String, String> consumer) {
		OffsetAndMetadata offset = consumer.committed(Set.of(PARTITION), BACK).get(PARTITION);
		return offset.offset();
	}

	private static Future<RecordMetadata> send(Producer<String, String> producer, String value) {
		return producer.send(new ProducerRecord<>(PARTITION.topic(), value));
	}

	// A client that has lost all brokers may forget the topic; send() itself waits then.
	private static Future<RecordMetadata> sendSoon(Producer<String, String> producer, String value) {
		return CompletableFuture.supplyAsync(() -> get(send(producer, value)));
	}

	private static RecordMetadata get(Future<RecordMetadata> sent) {
		try {
			return sent.get();
		}
		catch (InterruptedException | ExecutionException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private Producer<String, String> producer(Map<String, Object> properties) {
		Map<String, Object> all = new HashMap<>(properties);
		all.put("bootstrap.servers", this.kafka.bootstrapServers());
		return new KafkaProducer<>(all, new StringSerializer(), new StringSerializer());
	}

	private KafkaConsumer<String, String> consumer() {
		return new KafkaConsumer<>(Map.of("bootstrap.servers", this.kafka.bootstrapServers(), "group.id", "group",
				"auto.offset.reset", "earliest", "enable.auto.commit", false), new StringDeserializer(),
				new StringDeserializer());
	}

}
