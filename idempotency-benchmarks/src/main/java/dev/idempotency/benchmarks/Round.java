package dev.idempotency.benchmarks;

/**
 * The figures of both listeners for the same records.
 *
 * @param limit the figures of the limit
 * @param guarded the figures of the protected listener
 */
record Round(Phase limit, Phase guarded) {

	double ratio() {
		return this.guarded.rate() / this.limit.rate();
	}

}
