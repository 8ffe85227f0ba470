package dev.idempotency.listener;

import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for a consumer process that is killed while it handles single records.
 */
@Order(2)
class CrashTests extends AbstractCrashTests {

	CrashTests() {
		super(CrashShape.RECORD);
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-7")
	void afterKillWithinATransactionalHandlerItsEffectHappensOnce() {
		assertThat(effects("transactional-running")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	void afterKillBetweenHandlerAndCommitTheEffectHappensOnce() {
		assertThat(effects("transactional-before-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-3")
	void afterKillBetweenCommitAndOffsetTheEffectHappensOnce() {
		assertThat(effects("transactional-after-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-5")
	@Tag("promise-7")
	void afterKillBeforeTheCommitOfAnOffsetTheEffectHappensOnce() {
		assertThat(effects("offset-before-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-5")
	void afterKillAfterTheCommitOfAnOffsetTheEffectHappensOnce() {
		assertThat(effects("offset-after-commit")).containsExactly("first", "second", "third");
	}

	@Test
	@Tag("promise-1")
	@Tag("promise-7")
	void afterKillBeforeTheEffectOfALeasedHandlerTheRecordIsTakenOver() {
		assertThat(effects("leased-running")).containsExactly("first", "second", "third");
		assertThat(fences("leased-running")).containsExactly(2, 1, 1);
	}

	// The window of leased mode. The fence distinguishes
	// the second execution from the first.
	@Test
	@Tag("promise-1")
	@Tag("promise-6")
	@Tag("promise-7")
	void afterKillBetweenEffectAndCompletionALeasedHandlerRunsAgainWithTheNextFence() {
		assertThat(effects("leased-after-effect")).containsExactly("first", "first", "second", "third");
		assertThat(fences("leased-after-effect")).containsExactly(1, 2, 1, 1);
	}

	@Test
	@Tag("promise-3")
	void afterKillBetweenCompletionAndOffsetALeasedHandlerDoesNotRunAgain() {
		assertThat(effects("leased-after-completion")).containsExactly("first", "second", "third");
	}

}
