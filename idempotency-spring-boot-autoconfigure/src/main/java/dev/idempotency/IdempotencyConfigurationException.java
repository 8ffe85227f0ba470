package dev.idempotency;

/**
 * Thrown at start-up when the configuration of the application cannot be protected. A
 * failure analyzer shows description and action.
 *
 * @since 0.1.0
 */
public final class IdempotencyConfigurationException extends RuntimeException {

	private final String action;

	/**
	 * Create the exception.
	 * @param description the problem, as a sentence
	 * @param action the remedy, as a sentence in the imperative
	 */
	public IdempotencyConfigurationException(String description, String action) {
		super(description);
		this.action = action;
	}

	/**
	 * Return the remedy.
	 * @return the action, as a sentence in the imperative
	 */
	public String action() {
		return this.action;
	}

}
