package dev.idempotency.contract;

/**
 * A call in a sequence.
 *
 * @param owner who calls
 * @param call what is called
 * @param key for which key
 */
record Step(int owner, Call call, int key) {

	@Override
	public String toString() {
		return "owner " + this.owner + ": " + this.call + " key " + this.key;
	}

	/**
	 * What can be called.
	 */
	enum Call {

		CLAIM, CLAIM_WITH_OTHER_CONTENT, REPEAT_CLAIM_OF, COMPLETE, FAIL, RELEASE, RENEW

	}

}
