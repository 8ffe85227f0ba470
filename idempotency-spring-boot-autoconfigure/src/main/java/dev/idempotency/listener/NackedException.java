package dev.idempotency.listener;

/**
 * Tells the protocol that the method has returned, but wants its records again. It never
 * leaves this package.
 */
@SuppressWarnings("serial")
final class NackedException extends RuntimeException {

	NackedException() {
		super("The listener did not acknowledge the record and asked for it again", null, false, false);
	}

}
