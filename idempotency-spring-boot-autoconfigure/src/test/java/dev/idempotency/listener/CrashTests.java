package dev.idempotency.listener;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a consumer process that is killed while it handles record by record.
 */
class CrashTests extends AbstractCrashTests {

	CrashTests() {
		super(CrashShape.RECORD);
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

}
