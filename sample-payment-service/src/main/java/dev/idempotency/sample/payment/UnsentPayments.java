package dev.idempotency.sample.payment;

import java.util.List;

import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.stereotype.Component;

/**
 * Sends what an earlier run of the service has stored but not marked as sent. Messages
 * that the broker had already taken are sent twice by this.
 */
@Component
final class UnsentPayments implements ApplicationRunner {

	private static final Logger logger = LoggerFactory.getLogger(UnsentPayments.class);

	private final PaymentRepository payments;

	private final PaymentSender sender;

	UnsentPayments(PaymentRepository payments, PaymentSender sender) {
		this.payments = payments;
		this.sender = sender;
	}

	@Override
	public void run(ApplicationArguments args) {
		List<Payment> unsent = this.payments.unsent();
		if (!unsent.isEmpty()) {
			logger.info("Sending {} payments that an earlier run has left unsent", unsent.size());
			this.sender.send(unsent);
		}
	}

}
