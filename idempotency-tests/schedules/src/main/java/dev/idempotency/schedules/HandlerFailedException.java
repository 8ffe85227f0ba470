package dev.idempotency.schedules;

/**
 * The failure of a handler that the scenario has decided.
 */
final class HandlerFailedException extends RuntimeException {

	private static final long serialVersionUID = 1L;

	HandlerFailedException() {
		super("The scenario lets the handler fail");
	}

}
