/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.memory;

import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.platform.engine.DiscoverySelector;
import org.junit.platform.engine.TestSource;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;
import org.springframework.util.ReflectionUtils;

import dev.idempotency.contract.IdempotencyStoreContract;
import dev.idempotency.store.IdempotencyStore;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the contract kit: a correct store passes, and the tests for an obligation
 * find a store that violates it.
 */
@Execution(ExecutionMode.SAME_THREAD)
@Order(3)
class ContractKitTests {

	private static final String COMPETITION = "ownersNeverOverlapFencesGrowCompletionIsFinalAndZombiesChangeNothing";

	private static final String SEQUENCES = "everyAnswerEqualsThatOfTheModel";

	private static final String BATCH = "claimsOfABatchReturnTheirAnswersInOrder";

	private static final String LOST_KEYS = "lostKeysOfABatchStayAndTheOthersAreSettled";

	private static final String STRANGER = "callerWithoutAClaimChangesNothing";

	private static final String EARLIER_OWNER = "earlierOwnerChangesNothing";

	@Test
	void healthyStorePasses() {
		TestExecutionSummary summary = run(new DelegatingStore(), Duration.ofSeconds(1),
				List.of(DiscoverySelectors.selectClass(Subject.class)));
		assertThat(failed(summary)).isEmpty();
		assertThat(summary.getTestsSucceededCount()).isGreaterThan(150);
	}

	@ParameterizedTest
	@MethodSource
	void defectIsFound(Supplier<IdempotencyStore> defective, Set<String> by) {
		// Most defects show at once.
		Duration competition = by.contains(COMPETITION) ? Duration.ofMillis(100) : Duration.ofMillis(1);
		Set<String> missed = new HashSet<>(by);
		// On a busy machine, late threads may miss a race, but not in every run.
		for (int runs = 0; runs < 50 && !missed.isEmpty(); runs++) {
			missed.removeAll(failed(run(defective.get(), competition, select(missed))));
		}
		assertThat(missed).isEmpty();
	}

	static Stream<Arguments> defectIsFound() {
		return Stream.of(
				defect("completes for any token", FencingDefects::completesForAnyToken, STRANGER, EARLIER_OWNER,
						COMPETITION, SEQUENCES),
				defect("fails for any token", FencingDefects::failsForAnyToken, STRANGER, EARLIER_OWNER, COMPETITION,
						SEQUENCES),
				defect("releases for any token", FencingDefects::releasesForAnyToken, STRANGER, EARLIER_OWNER,
						COMPETITION, SEQUENCES),
				defect("renews for any token", FencingDefects::renewsForAnyToken, STRANGER, EARLIER_OWNER, COMPETITION,
						SEQUENCES),
				defect("fails for any token and returns LOST", FencingDefects::failsForAnyTokenAndReturnsLost, STRANGER,
						EARLIER_OWNER, COMPETITION, SEQUENCES),
				defect("tells everybody settled", FencingDefects::tellsEverybodySettled, STRANGER, EARLIER_OWNER,
						"mutationOfAnAbsentKeyLeavesNoRecord", COMPETITION, SEQUENCES),
				defect("reports forgotten keys as lost", FencingDefects::reportsForgottenKeysAsLost,
						"mutationOfAnAbsentKeyLeavesNoRecord", LOST_KEYS),
				defect("restores over the records of others", FencingDefects::restoresOverTheRecordsOfOthers,
						"recordOfAnotherOwnerIsNotReplaced"),
				defect("restores with a new fence", FencingDefects::restoresWithANewFence,
						"forgottenClaimIsRestoredWithItsFenceAndAttempt"),
				defect("restores what the owner has freed", FencingDefects::restoresWhatTheOwnerHasFreed,
						"ownerCannotRestoreASettledClaim"),
				defect("looks for the owner, then writes", FencingDefects::looksForTheOwnerBeforeItWrites, COMPETITION),
				defect("looks for a free key, then writes", FencingDefects::looksForAFreeKeyBeforeItWrites,
						"oneOfManyAcquiresAnAbsentKey", COMPETITION),
				defect("starts fences anew", FencingDefects::startsFencesAnew, "fencesGrowFromClaimToClaim",
						"takeOverHasTheNextAttemptAndALargerFence", COMPETITION, SEQUENCES),
				defect("ends leases 3 ms early", () -> TimeDefects.endsLeases((lease) -> lease.minusMillis(3)),
						COMPETITION),
				defect("ends leases at half", () -> TimeDefects.endsLeases((lease) -> lease.dividedBy(2)),
						"claimIsTakenOverWhenItsLeaseHasExpiredAndNotBefore", COMPETITION),
				defect("ends leases late", () -> TimeDefects.endsLeases((lease) -> lease.multipliedBy(2)),
						"liveClaimReturnsItsRemainingLease", "timesAreCountedFromTheClaim"),
				defect("trusts the clocks of its clients", TimeDefects::trustsTheClocksOfItsClients, COMPETITION,
						"liveClaimIsNotTakenOverByAProcessWhoseClockIsAhead",
						"liveClaimOfAProcessWhoseClockIsBehindIsNotTakenOver",
						"expiredClaimOfAProcessWhoseClockIsAheadIsTakenOver",
						"expiredClaimIsTakenOverByAProcessWhoseClockIsBehind"),
				defect("ends retention at half", TimeDefects::endsRetentionAtHalf,
						"completedKeyIsAcquiredWhenItsRetentionHasExpiredAndNotBefore"),
				defect("counts retention from the completion", TimeDefects::countsRetentionFromTheCompletion,
						"completionDoesNotExtendTheRetention"),
				defect("refuses owners of expired claims", TimeDefects::refusesOwnersOfExpiredClaims,
						"ownerSettlesAnExpiredClaimThatIsNotTakenOver"),
				defect("renews only live claims", TimeDefects::renewsOnlyLiveClaims,
						"ownerSettlesAnExpiredClaimThatIsNotTakenOver", "expiredClaimIsAliveAfterItsRenewal"),
				defect("ignores fingerprints", ContentDefects::ignoresFingerprints, "otherContentIsAMismatch",
						SEQUENCES),
				defect("compares content of free keys", ContentDefects::comparesContentOfFreeKeys,
						"claimableKeyAcceptsOtherContent", SEQUENCES),
				defect("compares fingerprints of different versions", ContentDefects::comparesVersions,
						"fingerprintsOfDifferentVersionsAreNotCompared"),
				defect("ignores content of live claims", ContentDefects::ignoresContentOfLiveClaims,
						"otherContentIsAMismatch", "claimableKeyAcceptsOtherContent", SEQUENCES),
				defect("ignores scopes", ContentDefects::ignoresScopes, "sameKeyInTwoScopesIsTwoOperations"),
				defect("treats repeated claims as those of another owner",
						ContentDefects::treatsRepeatedClaimsAsThoseOfAnotherOwner,
						"repeatedClaimHasTheSameFenceAndAttempt", SEQUENCES),
				defect("counts repeated claims twice", ContentDefects::countsRepeatedClaimsTwice,
						"repeatedClaimHasTheSameFenceAndAttempt",
						"repeatedClaimOfALaterAttemptHasTheSameFenceAndAttempt",
						"repeatedBatchOfClaimsReturnsTheFirstAnswers", SEQUENCES),
				defect("counts requests that the client repeats", ContentDefects::countsRequestsThatTheClientRepeats,
						SEQUENCES),
				defect("loses repeated failures", ContentDefects::losesRepeatedFailures,
						"repeatedSettlementIsSettledAndChangesNothing", SEQUENCES),
				defect("counts released attempts", ContentDefects::countsReleasedAttempts,
						"releasedKeyIsAcquiredAtOnceForTheSameAttempt", SEQUENCES),
				defect("treats empty results as none", ContentDefects::treatsEmptyResultsAsNone,
						"emptyResultDiffersFromNoResult"),
				defect("returns renewals in reverse", ContentDefects::returnsRenewalsInReverse,
						"renewalsOfSeveralClaimsReturnTheirOutcomesInOrder"));
	}

	@ParameterizedTest
	@MethodSource
	void oldSnapshotIsFound(Supplier<IdempotencyStore> defective, Set<String> by) {
		defectIsFound(defective, by);
	}

	static Stream<Arguments> oldSnapshotIsFound() {
		return Stream.of(
				defect("claims completed keys in an old snapshot", SnapshotDefects::claimsCompletedKeys,
						"completedKeyReturnsItsResult", SEQUENCES),
				defect("claims completed keys in an old snapshot at times", SnapshotDefects::claimsCompletedKeysAtTimes,
						COMPETITION),
				defect("keeps completed keys in progress", SnapshotDefects::keepsCompletedKeysInProgress,
						"completedKeyReturnsItsResult", SEQUENCES),
				defect("keeps completed keys in progress at times",
						SnapshotDefects::keepsCompletedKeysInProgressAtTimes, COMPETITION),
				defect("looks keys up in an old snapshot", SnapshotDefects::looksKeysUp, "completedKeyHasItsResult",
						"liveClaimHasTheRestOfItsLease"),
				defect("finds records in an old snapshot", SnapshotDefects::findsRecords, "recordHasTheState",
						SEQUENCES));
	}

	@ParameterizedTest
	@MethodSource
	void defectOfVersionsIsFound(Supplier<IdempotencyStore> defective, Set<String> by) {
		defectIsFound(defective, by);
	}

	static Stream<Arguments> defectOfVersionsIsFound() {
		String remembered = "completedVersionIsRememberedWhateverBecomesOfAHigherOne";
		return Stream.of(
				defect("ignores versions", VersionDefects::ignoresVersions, "lowerVersionIsStaleAndChangesNothing",
						"higherVersionIsAcquiredAsAFirstAttemptWithALargerFence", "completedVersionsOfAKeyOnlyGrow"),
				defect("compares versions as fractions", VersionDefects::comparesVersionsAsFractions,
						"versionsAreWholeNumbersOf64Bits"),
				defect("compares versions without a sign", VersionDefects::comparesVersionsWithoutASign,
						"versionsAreWholeNumbersOf64Bits"),
				defect("treats equal versions as stale", VersionDefects::treatsEqualVersionsAsStale,
						"equalVersionReturnsTheResult", remembered),
				defect("loses the result when a higher version is claimed",
						VersionDefects::losesTheResultWhenAHigherVersionIsClaimed, remembered),
				defect("forgets the version when a higher one is claimed",
						VersionDefects::forgetsTheVersionWhenAHigherOneIsClaimed, remembered),
				defect("treats higher versions as duplicates", VersionDefects::treatsHigherVersionsAsDuplicates,
						"higherVersionIsAcquiredAsAFirstAttemptWithALargerFence",
						"versionsOutOfOrderEndWithTheHighest"),
				defect("compares the content of other versions", VersionDefects::comparesContentOfOtherVersions,
						"contentIsComparedForAnEqualVersionOnly"));
	}

	@ParameterizedTest
	@MethodSource
	void defectOfBatchesIsFound(Supplier<IdempotencyStore> defective, Set<String> by) {
		defectIsFound(defective, by);
	}

	static Stream<Arguments> defectOfBatchesIsFound() {
		return Stream.of(
				defect("returns claims in reverse", BatchDefects::returnsClaimsInReverse, BATCH,
						"manyKeysAreClaimedAndCompletedEachWithItsOwnResult"),
				defect("returns settlements in reverse", BatchDefects::returnsSettlementsInReverse, LOST_KEYS),
				defect("loses all with one", BatchDefects::losesAllWithOne, LOST_KEYS),
				defect("settles for any token", BatchDefects::settlesAllWithOne, LOST_KEYS),
				defect("settles claims of one key alike", BatchDefects::settlesClaimsOfOneKeyAlike,
						"claimsOfOneKeyInABatchAreSettledByTheirTokens"),
				defect("keeps one result for all", BatchDefects::keepsOneResultForAll,
						"eachCompletionOfABatchHasItsOwnResult"),
				defect("settles all in the way of the first", BatchDefects::settlesAllInTheWayOfTheFirst,
						"endingsOfDifferentKindsAreSettledInOneCall"),
				defect("claims duplicates again", BatchDefects::claimsDuplicatesAgain, BATCH,
						"manyKeysAreClaimedAndCompletedEachWithItsOwnResult"),
				defect("keeps one lease for all", BatchDefects::keepsOneLeaseForAll, "eachClaimOfABatchHasItsOwnTimes"),
				defect("keeps one fingerprint for all", BatchDefects::keepsOneFingerprintForAll, BATCH,
						"eachClaimOfABatchHasItsOwnContent"),
				defect("compares content of free keys", BatchDefects::comparesContentOfFreeKeys, BATCH),
				defect("claims with tokens of its own", BatchDefects::claimsWithTokensOfItsOwn,
						"repeatedBatchOfClaimsReturnsTheFirstAnswers"),
				defect("looks for free keys, then writes", BatchDefects::looksForFreeKeysBeforeItWrites,
						"eachKeyOfOverlappingBatchesHasOneOwner"),
				defect("refuses to settle again", BatchDefects::refusesToSettleAgain,
						"repeatedSettlementsOfABatchAreSettledAndChangeNothing"));
	}

	private static Arguments defect(String name, Supplier<IdempotencyStore> defective, String... by) {
		return Arguments.of(Named.of(name, defective), Set.of(by));
	}

	// Discovering all tests takes longer than running these.
	private static List<? extends DiscoverySelector> select(Set<String> tests) {
		return Stream.of(ReflectionUtils.getUniqueDeclaredMethods(Subject.class))
			.filter((method) -> tests.contains(method.getName()))
			.map((method) -> DiscoverySelectors.selectMethod(Subject.class, method))
			.toList();
	}

	private static TestExecutionSummary run(IdempotencyStore store, Duration competition,
			List<? extends DiscoverySelector> tests) {
		Subject.store = store;
		Subject.competition = competition;
		// Its failures are no news: they are neither
		// printed nor tried first the next time.
		LauncherDiscoveryRequest request = LauncherDiscoveryRequestBuilder.request()
			.selectors(tests)
			// The subject is static, and the tests around use the threads already.
			.configurationParameter("junit.jupiter.execution.parallel.enabled", "false")
			.configurationParameter("jqwik.failures.after.default", "RANDOM_SEED")
			.configurationParameter("jqwik.reporting.usejunitplatform", "true")
			// The shortest sequence that fails is of no interest here.
			.configurationParameter("jqwik.shrinking.default", "OFF")
			.build();
		SummaryGeneratingListener listener = new SummaryGeneratingListener();
		LauncherFactory.create().execute(request, listener);
		return listener.getSummary();
	}

	private static Set<String> failed(TestExecutionSummary summary) {
		return summary.getFailures()
			.stream()
			.map((failure) -> method(failure.getTestIdentifier().getSource()).orElseThrow())
			.collect(Collectors.toSet());
	}

	private static Optional<String> method(Optional<TestSource> source) {
		return source.filter(org.junit.platform.engine.support.descriptor.MethodSource.class::isInstance)
			.map(org.junit.platform.engine.support.descriptor.MethodSource.class::cast)
			.map((method) -> method.getMethodName());
	}

	/**
	 * The contract test of the store under examination.
	 */
	static class Subject extends IdempotencyStoreContract {

		private static volatile IdempotencyStore store;

		private static volatile Duration competition;

		@Override
		public IdempotencyStore store() {
			return store;
		}

		@Override
		public Optional<IdempotencyStore> storeWithClock(Duration ahead) {
			return Optional.of(OtherProcess.of(store, ahead));
		}

		@Override
		public Duration lease() {
			return Duration.ofMillis(50);
		}

		@Override
		public Duration retention() {
			return Duration.ofMillis(200);
		}

		@Override
		public Duration competition() {
			return competition;
		}

	}

}
