package dev.idempotency.benchmarks;

/**
 * The same records, consumed by both listeners.
 *
 * @param limit the listener of the least work
 * @param guarded the protected listener
 */
record Round(Phase limit, Phase guarded) {

	double ratio() {
		return this.guarded.rate() / this.limit.rate();
	}

}
