package dev.idempotency.listener;

import java.util.List;

import org.springframework.kafka.annotation.KafkaListener;

import dev.idempotency.Idempotent;
import dev.idempotency.Mode;

/**
 * One listener for each point of {@link CrashShape#BATCH}.
 */
class BatchCrashListeners {

	private final CrashPoint crash;

	private final CrashEffects effects;

	BatchCrashListeners(CrashPoint crash, CrashEffects effects) {
		this.crash = crash;
		this.effects = effects;
	}

	@Idempotent(mode = Mode.TRANSACTIONAL)
	@KafkaListener(topics = "${topic}-transactional-running", groupId = "${topic}-transactional-running",
			batch = "true")
	void transactionalRunning(List<String> values) {
		values.forEach((value) -> {
			effect("transactional-running", value);
			if (value.equals("second")) {
				this.crash.reach("transactional-running");
			}
		});
	}

	@Idempotent(mode = Mode.TRANSACTIONAL)
	@KafkaListener(topics = "${topic}-transactional-before-commit", groupId = "${topic}-transactional-before-commit",
			batch = "true")
	void transactionalBeforeCommit(List<String> values) {
		values.forEach((value) -> effect("transactional-before-commit", value));
		this.crash.reachBeforeCommit("transactional-before-commit");
	}

	@Idempotent(mode = Mode.TRANSACTIONAL)
	@KafkaListener(topics = "${topic}-transactional-after-commit", groupId = "${topic}-transactional-after-commit",
			batch = "true")
	void transactionalAfterCommit(List<String> values) {
		values.forEach((value) -> effect("transactional-after-commit", value));
		this.crash.reachAfterCommit("transactional-after-commit");
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-running", groupId = "${topic}-leased-running", batch = "true")
	void leasedRunning(List<String> values) {
		values.forEach((value) -> {
			if (value.equals("second")) {
				this.crash.reach("leased-running");
			}
			effect("leased-running", value);
		});
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}")
	@KafkaListener(topics = "${topic}-leased-after-effect", groupId = "${topic}-leased-after-effect", batch = "true")
	void leasedAfterEffect(List<String> values) {
		values.forEach((value) -> effect("leased-after-effect", value));
		this.crash.reach("leased-after-effect");
	}

	@Idempotent(mode = Mode.LEASED, lease = "${lease}", scope = CrashingApp.AFTER_COMPLETION)
	@KafkaListener(topics = "${topic}-leased-after-completion", groupId = "${topic}-leased-after-completion",
			batch = "true")
	void leasedAfterCompletion(List<String> values) {
		values.forEach((value) -> effect("leased-after-completion", value));
	}

	private void effect(String name, String value) {
		this.effects.add(name, value, null);
	}

}
