package dev.idempotency.sample.ledger;

import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

import dev.idempotency.outbox.Outbox;
import dev.idempotency.outbox.OutboxMessage;
import dev.idempotency.sample.payment.PaymentCommand;

/**
 * Charges a payment and sends the event of it, in the transaction of its caller or in one
 * of its own: there is an event if, and only if, there is a charge.
 */
@Component
class PublishingLedger {

	private final Ledger ledger;

	private final Outbox outbox;

	PublishingLedger(Ledger ledger, Outbox outbox) {
		this.ledger = ledger;
		this.outbox = outbox;
	}

	@Transactional
	Receipt charge(PaymentCommand command) {
		Receipt receipt = this.ledger.charge("ledger", command);
		// After the debit: its lock on the account puts the events of an account in
		// order.
		this.outbox.send(OutboxMessage.to(PaymentChargedTopic.NAME)
			.key(command.account())
			.payload(new PaymentCharged(command.paymentId(), command.account(), command.amount(), receipt.balance(),
					receipt.entry()))
			.aggregate("payment", command.paymentId().toString())
			.type("payment-charged")
			.build());
		return receipt;
	}

}
