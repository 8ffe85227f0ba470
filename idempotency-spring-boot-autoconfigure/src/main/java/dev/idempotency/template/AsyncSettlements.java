package dev.idempotency.template;

import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import dev.idempotency.OperationBlockedException;
import dev.idempotency.OwnershipLostException;
import dev.idempotency.store.Settlement;

/**
 * Settles claims on threads of its own: those of asynchronous handlers when their signals
 * arrive, since the thread of the signal may be the one that the store needs for its
 * answer, and those of a transaction of the caller when it has ended, since its thread
 * still holds a connection. The answer is completed on a further thread, since the
 * application may continue on it with whatever it likes.
 */
final class AsyncSettlements implements AutoCloseable {

	private static final Log logger = LogFactory.getLog(AsyncSettlements.class);

	private static final int THREADS = 8;

	private static final Duration LAST_WAIT = Duration.ofSeconds(10);

	private static final Duration SHORTEST_WAIT = Duration.ofMillis(50);

	private static final Duration LONGEST_WAIT = Duration.ofSeconds(2);

	private final Settlements settlements;

	private final Results results;

	private final ThreadPoolExecutor executor;

	// What the application does with an answer may take any time, and may wait for other
	// answers: there is a thread for each.
	private final Executor answers;

	// For operations that another owner has taken over.
	private final ScheduledThreadPoolExecutor waiting;

	private final Set<CompletableFuture<?>> signalled = ConcurrentHashMap.newKeySet();

	AsyncSettlements(Settlements settlements, Results results, ThreadFactory threads, ThreadFactory answers) {
		this.settlements = settlements;
		this.results = results;
		this.executor = new ThreadPoolExecutor(THREADS, THREADS, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
				threads);
		this.executor.allowCoreThreadTimeOut(true);
		this.answers = new ThreadPoolExecutor(0, Integer.MAX_VALUE, 10, TimeUnit.SECONDS, new SynchronousQueue<>(),
				answers);
		this.waiting = new ScheduledThreadPoolExecutor(1, threads);
	}

	/**
	 * Settle a claim when its handler has signalled.
	 * @param stage what the handler returned
	 * @param claim its claim
	 * @param codec how the result is kept
	 * @param <T> the type of the result
	 * @return the answer, once it is recorded; as long as the store does not take it,
	 * there is none. Cancelling it cancels the handler
	 */
	<T> CompletableFuture<IdempotentResult<T>> settle(CompletionStage<T> stage, OwnedClaim claim,
			ResultCodec<T> codec) {
		CompletableFuture<IdempotentResult<T>> answer = new CompletableFuture<>();
		stage.whenComplete((result, error) -> {
			Runnable settlement = () -> {
				try {
					settle(result, error, claim, codec, answer);
				}
				finally {
					this.settlements.leave(claim);
				}
			};
			Runnable late = () -> logger.warn("The handler ended after the application: " + claim.operation()
					+ "; its key is free when its lease has run out");
			execute(settlement, late, claim.operation());
		});
		return cancelling(stage, answer);
	}

	/**
	 * Settle claims whose transaction has ended. Their leases are renewed until then. If
	 * one of their keys is claimed again in this process before that, it is settled
	 * first.
	 * @param claims the claims
	 * @param completed whether they are to be completed
	 * @param settlement settles them, and throws nothing
	 */
	void settle(List<OwnedClaim> claims, boolean completed, Runnable settlement) {
		if (claims.isEmpty()) {
			settlement.run();
			return;
		}
		Runnable once = this.settlements.queue(claims, completed, settlement);
		execute(once, once, claims.get(0).operation());
	}

	private void execute(Runnable settlement, Runnable late, IdempotentOperation operation) {
		CompletableFuture<@Nullable Void> settled = new CompletableFuture<>();
		this.signalled.add(settled);
		settled.whenComplete((done, failure) -> this.signalled.remove(settled));
		Runnable task = () -> {
			try {
				settlement.run();
			}
			finally {
				settled.complete(null);
			}
		};
		try {
			this.executor.execute(task);
		}
		catch (RejectedExecutionException ex) {
			settled.complete(null);
			late.run();
		}
		catch (Error ex) {
			logger.warn("No thread could be started that records the outcome of " + operation
					+ "; the current thread does so. Look at the limits of the process", ex);
			task.run();
		}
	}

	private static <T> CompletableFuture<T> cancelling(CompletionStage<?> stage, CompletableFuture<T> answer) {
		answer.whenComplete((executed, error) -> {
			if (answer.isCancelled()) {
				stage.toCompletableFuture().cancel(true);
			}
		});
		return answer;
	}

	private static Throwable cause(Throwable error) {
		return (error instanceof CompletionException && error.getCause() != null) ? error.getCause() : error;
	}

	private <T> void settle(@Nullable T result, @Nullable Throwable error, OwnedClaim claim, ResultCodec<T> codec,
			CompletableFuture<IdempotentResult<T>> answer) {
		try {
			if (error != null) {
				Throwable cause = cause(error);
				this.settlements.fail(claim, cause);
				fail(answer, cause);
				return;
			}
			IdempotentResult<T> executed = new IdempotentResult<>(result, false);
			claim.whenPendingEnds((settlement) -> {
				if (settlement == Settlement.SETTLED) {
					complete(answer, executed);
				}
				else {
					fail(answer, claim.lost());
				}
			});
			this.settlements.complete(claim, this.results.write(claim.operation(), result, codec));
			complete(answer, executed);
		}
		catch (OwnershipLostException ex) {
			fail(answer, ex);
		}
		catch (OperationBlockedException ex) {
			logger.debug("The answer waits until its completion is recorded", ex);
		}
		catch (Throwable ex) {
			fail(answer, ex);
		}
	}

	private <T> void complete(CompletableFuture<IdempotentResult<T>> answer, IdempotentResult<T> executed) {
		answer(() -> answer.complete(executed));
	}

	private void fail(CompletableFuture<?> answer, Throwable error) {
		answer(() -> answer.completeExceptionally(error));
	}

	private void answer(Runnable answer) {
		try {
			this.answers.execute(answer);
		}
		catch (Error ex) {
			logger.warn("No thread could be started that completes the future of an asynchronous operation; a thread "
					+ "that records completions does so. Look at the limits of the process", ex);
			answer.run();
		}
	}

	static <T> CompletableFuture<IdempotentResult<T>> unprotected(@Nullable CompletionStage<T> stage) {
		if (stage == null) {
			return CompletableFuture.completedFuture(new IdempotentResult<>(null, false));
		}
		CompletableFuture<IdempotentResult<T>> answer = new CompletableFuture<>();
		stage.whenComplete((result, error) -> {
			if (error != null) {
				answer.completeExceptionally(cause(error));
			}
			else {
				answer.complete(new IdempotentResult<>(result, false));
			}
		});
		return cancelling(stage, answer);
	}

	/**
	 * Follow an operation until it has completed here or elsewhere, or has failed for
	 * another reason than that it is blocked.
	 * @param first its first execution
	 * @param again executes it again
	 * @param <T> the type of the result
	 * @return the answer. Cancelling it cancels the execution that is running
	 */
	<T> CompletableFuture<IdempotentResult<T>> untilCompleted(CompletableFuture<IdempotentResult<T>> first,
			Again<T> again) {
		CompletableFuture<IdempotentResult<T>> answer = new CompletableFuture<>();
		follow(first, again, answer);
		return answer;
	}

	private <T> void follow(CompletableFuture<IdempotentResult<T>> execution, Again<T> again,
			CompletableFuture<IdempotentResult<T>> answer) {
		execution.whenComplete((executed, error) -> {
			OperationBlockedException blocked = OperationBlockedException.in(error);
			if (blocked != null) {
				executeLater(blocked, again, answer);
			}
			else if (error != null) {
				answer.completeExceptionally(error);
			}
			else {
				answer.complete(executed);
			}
		});
		answer.whenComplete((executed, error) -> {
			if (answer.isCancelled()) {
				execution.cancel(true);
			}
		});
	}

	private <T> void executeLater(OperationBlockedException reason, Again<T> again,
			CompletableFuture<IdempotentResult<T>> answer) {
		long wait = Math.max(SHORTEST_WAIT.toMillis(),
				Math.min(LONGEST_WAIT.toMillis(), reason.retryAfter().toMillis()));
		try {
			this.waiting.schedule(() -> answer(() -> execute(again, answer)), wait, TimeUnit.MILLISECONDS);
		}
		catch (RejectedExecutionException ex) {
			logger.debug("The application has ended", ex);
		}
		catch (Error ex) {
			answer.completeExceptionally(ex);
		}
	}

	private <T> void execute(Again<T> again, CompletableFuture<IdempotentResult<T>> answer) {
		if (answer.isDone()) {
			return;
		}
		try {
			follow(again.execute(), again, answer);
		}
		catch (OperationBlockedException ex) {
			executeLater(ex, again, answer);
		}
		catch (Throwable ex) {
			answer.completeExceptionally(ex);
		}
	}

	/**
	 * Wait until what has been signalled is settled.
	 */
	void settleLast() {
		try {
			CompletableFuture.allOf(this.signalled.toArray(CompletableFuture[]::new))
				.get(LAST_WAIT.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (TimeoutException | ExecutionException ex) {
			logger.warn("Not all that asynchronous handlers have done could be recorded within " + LAST_WAIT
					+ "; their keys are free when their leases have run out", ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public void close() {
		this.waiting.shutdownNow();
		settleLast();
		this.executor.shutdownNow();
	}

	// The caller that waits for the answer may end the observation of the record.
	static <T> CompletableFuture<IdempotentResult<T>> told(CompletableFuture<IdempotentResult<T>> answer,
			Observed observed) {
		CompletableFuture<IdempotentResult<T>> told = new CompletableFuture<>();
		answer.whenComplete((executed, error) -> {
			observed.signalled(executed, error);
			if (error != null) {
				told.completeExceptionally(error);
			}
			else {
				told.complete(executed);
			}
		});
		told.whenComplete((executed, error) -> {
			if (told.isCancelled()) {
				answer.cancel(true);
			}
		});
		return told;
	}

	/**
	 * Executes an operation once more.
	 *
	 * @param <T> the type of the result
	 */
	@FunctionalInterface
	interface Again<T> {

		CompletableFuture<IdempotentResult<T>> execute() throws Throwable;

	}

}
