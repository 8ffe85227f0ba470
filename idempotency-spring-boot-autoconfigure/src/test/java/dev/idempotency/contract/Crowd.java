package dev.idempotency.contract;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Threads that do the same at the same time.
 */
final class Crowd {

	static final int SIZE = 8;

	private Crowd() {
	}

	static <T> List<T> of(Callable<T> action) throws Exception {
		CyclicBarrier start = new CyclicBarrier(SIZE);
		Callable<T> together = () -> {
			start.await();
			return action.call();
		};
		ExecutorService executor = Executors.newFixedThreadPool(SIZE);
		try {
			List<T> answers = new ArrayList<>();
			for (Future<T> answer : executor.invokeAll(Collections.nCopies(SIZE, together))) {
				answers.add(answer.get());
			}
			return answers;
		}
		finally {
			executor.shutdownNow();
		}
	}

}
