package dev.idempotency.schedules;

import java.time.Duration;
import java.util.Set;

import dev.idempotency.template.StoreObserver.StoreCall;

/**
 * The store evicts records while their handlers run, and an administrator evicts
 * completed ones. A restored claim must not outlive its handler, so that no key is in
 * progress at the end.
 */
final class Evictions implements Scenario {

	@Override
	public void run(World world) {
		world.faults()
			.some(30, 5, Fault.EVICTION, Fault.EVICTION, Fault.DELAY, Fault.LATE_ANSWER)
			.only(Set.of(StoreCall.RENEW, StoreCall.COMPLETE, StoreCall.FAIL));
		world.setLease(Duration.ofSeconds(3));
		world.setLongestHandler(Duration.ofSeconds(3));
		world.setFailures(1);
		Instance first = world.instance().start();
		Instance second = world.instance().start();
		world.start("first", () -> first.deliver("a"));
		world.start("same", () -> first.deliver("b"));
		world.start("second", () -> {
			world.pause(Duration.ofSeconds(2));
			second.deliver("a");
		});
		world.start("administrator", () -> {
			for (int i = 0; i < 4; i++) {
				world.pause(Duration.ofSeconds(1));
				first.template().admin().evict(world.key(world.chance(50) ? "a" : "b"), false, "administrator");
			}
		});
		world.join();
	}

}
