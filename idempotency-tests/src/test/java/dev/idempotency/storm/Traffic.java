package dev.idempotency.storm;

import java.util.Set;
import java.util.concurrent.ExecutionException;

/**
 * Sends records.
 */
interface Traffic {

	void send(int count) throws InterruptedException, ExecutionException;

	// The keys of all operations that were sent so far.
	Set<String> keys();

}
