package dev.idempotency.storm;

import java.util.concurrent.ExecutionException;

/**
 * Sends records.
 */
interface Traffic {

	void send(int count) throws InterruptedException, ExecutionException;

}
