package dev.idempotency.benchmarks;

/**
 * What a figure is held against.
 *
 * @param floor the value at which a reason must be found
 * @param aim the value that we are out for
 * @param upwards whether more is better
 */
record Goal(double floor, double aim, boolean upwards) {

	/**
	 * The slowest hundredth, as a multiple of the limit's.
	 */
	static final Goal P99 = new Goal(1.5, 1.2, false);

	/**
	 * Time that a delivery costs in the process, in microseconds.
	 */
	static final Goal TIME = new Goal(5, 2, false);

	/**
	 * Memory that a delivery allocates, in bytes.
	 */
	static final Goal MEMORY = new Goal(2048, 1024, false);

	static Goal ratio(double floor, double aim) {
		return new Goal(floor, aim, true);
	}

	String verdict(double value) {
		if (reaches(value, this.aim)) {
			return "aim met";
		}
		return reaches(value, this.floor) ? "floor met" : "**missed**";
	}

	private boolean reaches(double value, double mark) {
		return this.upwards ? value >= mark : value <= mark;
	}

}
