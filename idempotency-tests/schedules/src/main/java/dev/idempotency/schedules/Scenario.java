package dev.idempotency.schedules;

/**
 * The threads of one schedule. A scenario starts them; the {@link World} checks what they
 * did.
 */
@FunctionalInterface
interface Scenario {

	/**
	 * Prepare the faults, start the threads, and wait until they have ended.
	 * @param world the world of this schedule
	 */
	void run(World world);

}
