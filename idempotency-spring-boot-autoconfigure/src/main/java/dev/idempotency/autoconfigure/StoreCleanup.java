package dev.idempotency.autoconfigure;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import dev.idempotency.cleanup.CleanupJob;
import dev.idempotency.store.ExpiredRecords;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.Observers;

/**
 * Deletes the expired records of all stores that do not delete them themselves.
 */
final class StoreCleanup extends LifecycleGroup {

	StoreCleanup(Map<String, IdempotencyTemplate> templates, CleanupJob.Settings settings, Observers observers) {
		super(DEFAULT_PHASE, jobs(templates, settings, observers));
	}

	private static List<CleanupJob> jobs(Map<String, IdempotencyTemplate> templates, CleanupJob.Settings settings,
			Observers observers) {
		List<CleanupJob> jobs = new ArrayList<>();
		templates.forEach((name, template) -> {
			if (StoreTarget.of(template.store()) instanceof ExpiredRecords records) {
				// Stores in several databases may have tables with the same name.
				jobs.add(
						new CleanupJob(name.equals(StoreNames.DEFAULT) ? records.table() : name + ':' + records.table(),
								records, settings, observers));
			}
		});
		return jobs;
	}

}
