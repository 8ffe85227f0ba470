package dev.idempotency.sample.payment;

import java.math.BigDecimal;
import java.util.UUID;
import java.util.random.RandomGenerator;

/**
 * A requested payment and how often it is told.
 */
record Payment(PaymentCommand command, Repeat repeat) {

	private static final int ACCOUNTS = 20;

	private static final int MAX_CENTS = 25_000;

	static Payment random(RandomGenerator random, Repeat repeat) {
		String account = "ACC-%02d".formatted(random.nextInt(ACCOUNTS) + 1);
		BigDecimal amount = BigDecimal.valueOf(random.nextInt(MAX_CENTS) + 1L, 2);
		return new Payment(new PaymentCommand(UUID.randomUUID(), account, amount), repeat);
	}

	/**
	 * Whether and when the message of a payment is sent a second time.
	 */
	enum Repeat {

		/**
		 * It is sent once.
		 */
		NEVER,

		/**
		 * The copy is sent together with the message, on another partition.
		 */
		AT_ONCE,

		/**
		 * The copy is sent after all other messages.
		 */
		LATER

	}

}
