package dev.idempotency.test.ledger;

/**
 * A service of another company that charges cards.
 */
interface CardGateway {

	/**
	 * Charge a card.
	 * @param payment the payment
	 * @param key the idempotency key
	 */
	void charge(Payment payment, String key);

}
