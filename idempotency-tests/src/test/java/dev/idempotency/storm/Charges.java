/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.storm;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * All charges of a test, compared with the payments that were sent.
 */
final class Charges {

	private final List<Charge> charges;

	private final Map<String, List<Charge>> doubled;

	Charges(List<Charge> charges) {
		this.charges = charges;
		this.doubled = charges.stream().collect(Collectors.groupingBy(Charge::payment));
		this.doubled.values().removeIf((ofOne) -> ofOne.size() == 1);
	}

	int lost(Map<String, Long> payments) {
		Set<String> lost = new HashSet<>(payments.keySet());
		this.charges.forEach((charge) -> lost.remove(charge.payment()));
		return lost.size();
	}

	int doubles() {
		return this.doubled.values().stream().mapToInt((ofOne) -> ofOne.size() - 1).sum();
	}

	void assertNoneLost(Map<String, Long> payments) {
		Map<String, Long> lost = new HashMap<>(payments);
		this.charges.forEach((charge) -> lost.remove(charge.payment()));
		assertThat(lost).isEmpty();
		assertThat(this.charges).allMatch((charge) -> payments.get(charge.payment()) == charge.amount());
	}

	void assertNoneDoubled(Map<String, Long> payments) {
		assertThat(this.doubled).isEmpty();
		assertThat(this.charges).hasSameSizeAs(payments.entrySet());
		assertThat(this.charges.stream().mapToLong(Charge::amount).sum())
			.isEqualTo(payments.values().stream().mapToLong(Long::longValue).sum());
	}

	// Each owner that was interrupted may repeat one charge.
	void assertRepeatedAtMost(int open) {
		this.doubled.values().forEach((ofOne) -> assertThat(ofOne).extracting(Charge::fence).isSorted());
		assertThat(doubles()).isLessThanOrEqualTo(open);
	}

	/**
	 * Assert that each charge of an account has a higher version than those before it,
	 * and that the last one has the highest version.
	 * @param highest the highest version of each account
	 * @param killed the processes that were killed. The last version that such a process
	 * has applied to an account may be open, and is not compared then; empty if no
	 * version can be open
	 */
	void assertVersionsGrow(Map<String, Long> highest, Set<Long> killed) {
		Map<String, List<Charge>> accounts = this.charges.stream().collect(Collectors.groupingBy(Charge::payment));
		assertThat(accounts).hasSameSizeAs(highest.entrySet());
		accounts.forEach((account, versions) -> {
			assertThat(versions).extracting(Charge::fence).isSorted();
			long completed = 0;
			for (int i = 0; i < versions.size(); i++) {
				Charge charge = versions.get(i);
				assertThat(charge.amount()).as(versions.toString()).isGreaterThan(completed);
				boolean last = i + 1 == versions.size() || versions.get(i + 1).process() != charge.process();
				completed = (last && killed.contains(charge.process())) ? completed : charge.amount();
			}
			assertThat(versions.get(versions.size() - 1).amount()).isEqualTo(highest.get(account));
		});
	}

	// A charge is repeated only when a process is killed between the effect and the
	// completion. Each of its threads has a limited number of such payments.
	void assertRepeatedOnlyByKilledProcesses(Set<Long> killed, int openPerProcess, String window) {
		this.doubled.values().forEach((ofOne) -> {
			assertThat(ofOne).extracting(Charge::fence).isSorted();
			Charge last = ofOne.get(ofOne.size() - 1);
			assertThat(last.attempt()).as(ofOne.toString()).isNotEqualTo(1);
			assertThat(killed).as("killed processes, because " + window + ": " + ofOne)
				.containsAll(ofOne.subList(0, ofOne.size() - 1).stream().map(Charge::process).toList());
		});
		assertThat(this.doubled.values()
			.stream()
			.flatMap((ofOne) -> ofOne.subList(0, ofOne.size() - 1).stream())
			.collect(Collectors.groupingBy(Charge::process, Collectors.counting()))
			.values()).as("number of payments per killed process for which " + window)
			.allMatch((open) -> open <= openPerProcess);
	}

}
