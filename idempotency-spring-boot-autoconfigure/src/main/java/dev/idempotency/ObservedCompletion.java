package dev.idempotency;

import java.util.function.Consumer;

/**
 * Tells what became of a pending completion, once.
 */
final class ObservedCompletion implements PendingCompletion {

	private final PendingCompletion delegate;

	private final Consumer<Boolean> observer;

	private boolean told;

	/**
	 * Create a completion.
	 * @param delegate what is pending
	 * @param observer told whether it holds
	 */
	ObservedCompletion(PendingCompletion delegate, Consumer<Boolean> observer) {
		this.delegate = delegate;
		this.observer = observer;
	}

	@Override
	public void complete() {
		this.delegate.complete();
		tell(true);
	}

	@Override
	public void release() {
		this.delegate.release();
		tell(false);
	}

	@Override
	public void abandon() {
		this.delegate.abandon();
		tell(false);
	}

	private void tell(boolean completed) {
		if (!this.told) {
			this.told = true;
			this.observer.accept(completed);
		}
	}

	@Override
	public String toString() {
		return this.delegate.toString();
	}

}
