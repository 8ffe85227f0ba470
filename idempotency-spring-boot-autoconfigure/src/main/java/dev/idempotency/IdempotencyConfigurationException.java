package dev.idempotency;

/**
 * The application asks for something that cannot be protected; thrown at start-up.
 *
 * @since 0.1.0
 */
public final class IdempotencyConfigurationException extends RuntimeException {

	private final String action;

	/**
	 * Create the exception.
	 * @param description what is wrong
	 * @param action what to do
	 */
	public IdempotencyConfigurationException(String description, String action) {
		super(description);
		this.action = action;
	}

	/**
	 * What to do.
	 * @return the action
	 */
	public String action() {
		return this.action;
	}

}
