/*
 * Copyright 2026 the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License"); see the file LICENSE.
 * SPDX-License-Identifier: Apache-2.0
 */

package dev.idempotency.evidence;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the page of evidence.
 */
class EvidencePageTests {

	private static final Path DOCS = Path.of("../docs");

	private static final Pattern NAMED = Pattern
		.compile("`((?:kills|soak|network|failovers|durability|versions)/[^`]+)`");

	private final List<Exhibit> exhibits = EvidenceRun.exhibits();

	@Test
	void runWithAViolationIsRed() {
		Exhibit exhibit = this.exhibits.get(0);
		EvidenceRow passed = row(exhibit, 0, "");
		EvidenceRow failed = row(exhibit, 3, "3 payments were lost");
		assertThat(page(passed)).doesNotContain("❌").contains("| 1 of 4 | 25 | 100 | 0 | 0 | 0 | ✔ so far |");
		assertThat(page(passed, failed)).contains("| 2 of 4 | 50 | 200 | 3 | 0 | 0 | ❌ **3 payments were lost** |");
	}

	@Test
	void exhibitThatWasNotRunIsNamed() {
		assertThat(page()).contains("| " + this.exhibits.get(0).title() + " | 0 of 4 |  |  |  |  |  | not run |");
	}

	@Test
	void publishedPageIsThatOfTheResults() throws IOException {
		String published = Files.readString(DOCS.resolve("evidence.md"));
		List<EvidenceRow> results = new EvidenceFile(DOCS.resolve("evidence/results.jsonl")).read();
		assertThat(published).isEqualTo(new EvidencePage(this.exhibits, results).replaceIn(published));
	}

	@Test
	void exhibitsThatTheTextNamesExist() throws IOException {
		assertThat(NAMED.matcher(Files.readString(DOCS.resolve("evidence.md"))).results().map((name) -> name.group(1)))
			.allSatisfy((name) -> assertThat(this.exhibits).anyMatch((exhibit) -> exhibit.name().startsWith(name)));
	}

	private String page(EvidenceRow... rows) {
		return new EvidencePage(this.exhibits, List.of(rows))
			.replaceIn("<!-- The rest of this page is written by .ci/evidence. -->\n");
	}

	private static EvidenceRow row(Exhibit exhibit, int lost, String violation) {
		return new EvidenceRow(exhibit.name(), "abcd1234", 1, Instant.EPOCH, "", 1, violation.isEmpty(),
				Map.of("kills", 25, "operations", 100, "lost", lost, "doubled", 0, "open at a kill", 0), violation);
	}

}
