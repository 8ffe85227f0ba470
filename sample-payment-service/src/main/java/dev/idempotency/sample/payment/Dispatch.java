package dev.idempotency.sample.payment;

import dev.idempotency.sample.payment.Payment.Repeat;

/**
 * One turn of a payment: how many messages are sent together, and whether they are its
 * last ones.
 */
record Dispatch(PaymentCommand command, int messages, boolean last) {

	static Dispatch first(Payment payment) {
		int messages = (payment.repeat() == Repeat.AT_ONCE) ? 2 : 1;
		return new Dispatch(payment.command(), messages, payment.repeat() != Repeat.LATER);
	}

	static Dispatch late(Payment payment) {
		return new Dispatch(payment.command(), 1, true);
	}

}
