package dev.idempotency.listener;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.core.KafkaTemplate;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * One listener for each point of {@link CrashShape#KAFKA_TRANSACTION}; its first record
 * gets there. The effect of a record is a record in another topic.
 */
class KafkaTransactionCrashListeners {

	private final CrashPoint crash;

	private final KafkaTemplate<Object, Object> kafka;

	private final String topic;

	KafkaTransactionCrashListeners(CrashPoint crash, KafkaTemplate<Object, Object> kafka,
			@Value("${topic}") String topic) {
		this.crash = crash;
		this.kafka = kafka;
		this.topic = topic;
	}

	static String output(String topic, String point) {
		return topic + "-" + point + "-output";
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-running", groupId = "${topic}-leased-running")
	void leasedRunning(String value) {
		if (value.equals("first")) {
			this.crash.reach("leased-running");
		}
		effect("leased-running", value);
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-after-effect", groupId = "${topic}-leased-after-effect")
	void leasedAfterEffect(String value) {
		effect("leased-after-effect", value);
		if (value.equals("first")) {
			this.crash.reach("leased-after-effect");
		}
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = CrashingApp.AFTER_COMPLETION)
	@KafkaListener(topics = "${topic}-leased-after-completion", groupId = "${topic}-leased-after-completion")
	void leasedAfterCompletion(String value) {
		effect("leased-after-completion", value);
	}

	private void effect(String point, String value) {
		this.kafka.send(output(this.topic, point), value);
	}

}
