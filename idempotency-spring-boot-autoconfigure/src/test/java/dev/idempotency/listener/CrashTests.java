package dev.idempotency.listener;

import java.io.IOException;
import java.util.List;

import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a consumer process that is killed, with Boot's default error handler: a first
 * process stops dead at six points, is killed, and a second takes over.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class CrashTests {

	private final CrashRun run = new CrashRun(CrashShape.RECORD);

	@BeforeAll
	void killTheFirstProcessAndStartTheSecond() throws IOException {
		this.run.killTheFirstProcessAndStartTheSecond();
	}

	@AfterAll
	void stop() {
		this.run.close();
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-7")
	void killedWhileATransactionalHandlerRunsItsEffectHappensOnce() {
		assertThat(effects("transactional-running")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	void killedBetweenHandlerAndCommitTheEffectHappensOnce() {
		assertThat(effects("transactional-before-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-3")
	void killedBetweenCommitAndOffsetTheEffectHappensOnce() {
		assertThat(effects("transactional-after-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-7")
	void killedBeforeTheEffectOfALeasedHandlerTheRecordIsTakenOver() {
		assertThat(effects("leased-running")).containsExactly("first", "second", "third");
		assertThat(fences("leased-running")).containsExactly(2, 1, 1);
	}

	// The window of leased mode: the fence tells the second execution from the first.
	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void killedBetweenEffectAndCompletionALeasedHandlerRunsAgainWithTheNextFence() {
		assertThat(effects("leased-after-effect")).containsExactly("first", "first", "second", "third");
		assertThat(fences("leased-after-effect")).containsExactly(1, 2, 1, 1);
	}

	@Test
	@Tag("promise-3")
	void killedBetweenCompletionAndOffsetALeasedHandlerDoesNotRunAgain() {
		assertThat(effects("leased-after-completion")).containsExactly("first", "second", "third");
	}

	// The session time-out of the dead consumer, the lease, and one round of waiting.
	@Test
	@Tag("promise-7")
	void aCrashedOwnerIsReplacedAtMostOneLeaseLater() {
		assertThat(this.run.takeover()).isLessThan(CrashRun.LEASE.plusSeconds(12));
	}

	private List<String> effects(String point) {
		return this.run.effects().values(point);
	}

	private List<Integer> fences(String point) {
		return this.run.effects().fences(point);
	}

}
