package dev.idempotency.jdbc;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.MethodSource;

import dev.idempotency.Claim;
import dev.idempotency.ClaimRequest;
import dev.idempotency.Failure;
import dev.idempotency.IdempotencyKey;
import dev.idempotency.Settlement;
import dev.idempotency.jdbc.ClaimHistory.Owned;
import dev.idempotency.test.TestDatabase;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the promises of {@link JdbcIdempotencyStore} while many threads claim the
 * same keys.
 */
@ParameterizedClass
@MethodSource("databases")
class ConcurrentClaimTests {

	@Parameter
	private TestDatabase given;

	private static final int THREADS = 16;

	private static final Duration LEASE = Duration.ofMillis(50);

	private static final long RUN = TimeUnit.SECONDS.toNanos(3);

	private static List<IdempotencyKey> keys;

	private static ClaimHistory history;

	private static final Queue<Owned> ZOMBIES = new ConcurrentLinkedQueue<>();

	private static final AtomicInteger LOST = new AtomicInteger();

	private static TestDatabase database;

	static Stream<Named<TestDatabase>> databases() {
		return Stream.of(Named.of("PostgreSQL", TestDatabase.create()), Named.of("H2", TestDatabase.h2()));
	}

	@BeforeParameterizedClassInvocation
	static void claimConcurrently(TestDatabase given) throws Exception {
		database = given;
		keys = Stream.generate(TestDatabase::newKey).limit(60).toList();
		history = new ClaimHistory();
		ZOMBIES.clear();
		LOST.set(0);
		ExecutorService executor = Executors.newFixedThreadPool(THREADS);
		Callable<Void> worker = ConcurrentClaimTests::work;
		for (Future<Void> done : executor.invokeAll(IntStream.range(0, THREADS).mapToObj((i) -> worker).toList())) {
			done.get();
		}
		executor.shutdown();
	}

	private static Void work() {
		long end = System.nanoTime() + RUN;
		while (System.nanoTime() < end) {
			ClaimRequest request = TestDatabase.request(keys.get(random(keys.size())), LEASE);
			long asked = System.nanoTime();
			Claim claim = database.store().claim(request);
			if (claim instanceof Claim.Acquired acquired) {
				actAs(history.acquired(request, acquired.fence(), asked));
			}
			history.answered(request, claim, asked);
			Owned zombie = ZOMBIES.poll();
			if (zombie != null && zombie.age() > LEASE.toNanos() * (100 + random(100)) / 100) {
				settle(zombie, random(12));
			}
			else if (zombie != null) {
				ZOMBIES.add(zombie);
			}
		}
		return null;
	}

	private static void actAs(Owned owner) {
		int dice = random(100);
		if (dice < 50) {
			ZOMBIES.add(owner);
		}
		else if (dice < 95) {
			settle(owner, dice % 11 + 1);
		}
		else {
			settle(owner, 0);
		}
	}

	private static void settle(Owned owner, int dice) {
		long asked = System.nanoTime();
		Settlement settlement;
		if (dice == 0) {
			owner.gaveUp = asked;
			settlement = database.store().complete(owner.request, bytes(owner.fence));
		}
		else if (dice < 4) {
			settlement = database.store().renew(owner.request);
		}
		else if (dice < 8) {
			owner.gaveUp = asked;
			settlement = database.store().release(owner.request);
		}
		else {
			owner.gaveUp = asked;
			settlement = database.store().fail(owner.request, new Failure("x", null));
		}
		history.settled(owner, dice == 0, settlement, asked);
		if (settlement == Settlement.LOST) {
			LOST.incrementAndGet();
		}
	}

	private static int random(int bound) {
		return ThreadLocalRandom.current().nextInt(bound);
	}

	private static byte[] bytes(int fence) {
		return ByteBuffer.allocate(4).putInt(fence).array();
	}

	@Test
	@Tag("promise-2")
	@Tag("promise-3")
	@Tag("promise-4")
	void ownersNeverOverlapFencesGrowAndCompletionIsFinal() {
		history.verify();
	}

	@Test
	@Tag("promise-3")
	@Tag("promise-4")
	void completedKeysHoldTheResultOfTheOneWhoWasToldSo() {
		List<IdempotencyKey> completed = keys.stream()
			.filter((key) -> database.store().claim(TestDatabase.request(key)) instanceof Claim.Completed)
			.toList();
		assertThat(completed).containsExactlyInAnyOrderElementsOf(history.completions().keySet());
		assertThat(completed).allSatisfy((key) -> assertThat(database.store().claim(TestDatabase.request(key)))
			.isInstanceOfSatisfying(Claim.Completed.class,
					(claim) -> assertThat(claim.result()).isEqualTo(bytes(history.completions().get(key).fence()))));
	}

	@Test
	void runHadCompletionsAndZombies() {
		assertThat(history.completions()).hasSizeGreaterThan(5);
		assertThat(LOST).hasValueGreaterThan(50);
	}

}
