package dev.idempotency.autoconfigure;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.springframework.context.SmartLifecycle;

import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;

/**
 * Deletes the expired records of all stores that do not delete them themselves.
 */
final class StoreCleanup implements SmartLifecycle {

	private final List<CleanupJob> jobs = new ArrayList<>();

	StoreCleanup(Map<String, IdempotencyTemplate> templates, CleanupJob.Settings settings, Observers observers) {
		templates.forEach((name, template) -> {
			if (StoreTarget.of(template.store()) instanceof ExpiredRecords records) {
				this.jobs
					.add(new CleanupJob(name.equals(StoreNames.DEFAULT) ? records : new NamedRecords(name, records),
							settings, observers));
			}
		});
	}

	List<CleanupJob> jobs() {
		return this.jobs;
	}

	@Override
	public void start() {
		this.jobs.forEach(CleanupJob::start);
	}

	@Override
	public void stop() {
		this.jobs.forEach(CleanupJob::stop);
	}

	@Override
	public boolean isRunning() {
		return this.jobs.stream().anyMatch(CleanupJob::isRunning);
	}

	@Override
	public int getPhase() {
		return this.jobs.isEmpty() ? DEFAULT_PHASE : this.jobs.get(0).getPhase();
	}

	/**
	 * The records of a named store. Stores in several databases may have tables with the
	 * same name.
	 *
	 * @param store the name of the store
	 * @param delegate the records
	 */
	private record NamedRecords(String store, ExpiredRecords delegate) implements ExpiredRecords {

		@Override
		public String table() {
			return this.store + ':' + this.delegate.table();
		}

		@Override
		public void maintain() {
			this.delegate.maintain();
		}

		@Override
		public int deleteExpired(int limit, Duration pause) {
			return this.delegate.deleteExpired(limit, pause);
		}

		@Override
		public Duration backlogAge() {
			return this.delegate.backlogAge();
		}

	}

}
