package dev.idempotency.contract;

import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import dev.idempotency.store.ParkedPartition;
import dev.idempotency.store.ParkedRecord;
import dev.idempotency.store.ParkedRecords;
import dev.idempotency.store.ParkedRecords.StoredRecord;
import dev.idempotency.store.ParkedRecords.Summary;
import dev.idempotency.store.ParkedRecords.Waiting;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

/**
 * The parked records, for stores that have them.
 */
interface ParkedContract extends StoreContract {

	private ParkedRecords parked() {
		Assumptions.assumeTrue(store().parkedRecords().isPresent(), "the store parks no records");
		return store().parkedRecords().orElseThrow();
	}

	private static ParkedPartition newPartition() {
		return new ParkedPartition(Requests.newKey().value(), "topic", 3);
	}

	private static ParkedRecord record(ParkedPartition partition, long offset, @Nullable String key) {
		return new ParkedRecord(partition, offset, 1_000 + offset, 0, bytes(key), new byte[] { 1, 2 },
				bytes("value " + offset));
	}

	private static byte @Nullable [] bytes(@Nullable String text) {
		return (text != null) ? text.getBytes(StandardCharsets.UTF_8) : null;
	}

	private List<Long> offsets(ParkedPartition partition) {
		return parked().takeOver(partition, UUID.randomUUID()).stream().map(Waiting::offset).toList();
	}

	@Test
	default void recordsCanBeParked() {
		assertThat(parked().problem()).isNull();
	}

	@Test
	@Tag("promise-1")
	default void parkedRecordHasTheBytesOfItsOriginalAndKeepsItsOrder() {
		ParkedPartition partition = newPartition();
		UUID owner = UUID.randomUUID();
		assertThat(parked().takeOver(partition, owner)).isEmpty();
		List.of(record(partition, 7, "a"), record(partition, 5, null), record(partition, 9, "a"))
			.forEach((record) -> assertThat(parked().park(record, owner)).isTrue());
		List<Waiting> waiting = parked().takeOver(partition, UUID.randomUUID());
		assertThat(waiting).extracting(Waiting::offset).containsExactly(7L, 5L, 9L);
		assertThat(waiting).extracting(Waiting::key).containsExactly(bytes("a"), null, bytes("a"));
		assertThat(waiting).allSatisfy((record) -> {
			assertThat(record.headers()).containsExactly(1, 2);
			assertThat(record.parkedAt()).isCloseTo(Instant.now(), within(1, java.time.temporal.ChronoUnit.HOURS));
		});
		assertThat(parked().find(waiting.get(0).id())).hasValueSatisfying(
				(found) -> assertThat(found).usingRecursiveComparison().isEqualTo(record(partition, 7, "a")));
		ParkedRecord empty = new ParkedRecord(partition, 11, -1, -1, null, new byte[0], null);
		assertThat(parked().park(empty, owner)).as("the partition has another owner").isFalse();
	}

	@Test
	@Tag("promise-1")
	default void parkedTombstoneIsOneAgain() {
		ParkedPartition partition = newPartition();
		UUID owner = UUID.randomUUID();
		parked().takeOver(partition, owner);
		ParkedRecord empty = new ParkedRecord(partition, 11, -1, -1, null, new byte[0], null);
		parked().park(empty, owner);
		assertThat(parked().find(empty.id()))
			.hasValueSatisfying((found) -> assertThat(found).usingRecursiveComparison().isEqualTo(empty));
	}

	@Test
	@Tag("promise-3")
	default void recordThatIsDeliveredAgainIsParkedOnceAndKeepsItsPlace() {
		ParkedPartition partition = newPartition();
		UUID owner = UUID.randomUUID();
		parked().takeOver(partition, owner);
		for (int i = 0; i < 2; i++) {
			parked().park(record(partition, 1, "a"), owner);
			parked().park(record(partition, 2, "a"), owner);
		}
		assertThat(offsets(partition)).containsExactly(1L, 2L);
	}

	@Test
	@Tag("promise-3")
	default void recordOfATopicThatWasCreatedAgainIsAnotherOne() {
		ParkedPartition partition = newPartition();
		UUID owner = UUID.randomUUID();
		parked().takeOver(partition, owner);
		parked().park(record(partition, 1, "a"), owner);
		parked().park(new ParkedRecord(partition, 1, 5_000, 0, bytes("a"), new byte[0], null), owner);
		assertThat(offsets(partition)).containsExactly(1L, 1L);
	}

	@Test
	@Tag("promise-4")
	default void consumerThatHasLostThePartitionParksNothing() {
		ParkedPartition partition = newPartition();
		UUID zombie = UUID.randomUUID();
		UUID owner = UUID.randomUUID();
		assertThat(parked().park(record(partition, 1, "a"), zombie)).as("not taken over").isFalse();
		parked().takeOver(partition, zombie);
		parked().takeOver(partition, owner);
		assertThat(parked().park(record(partition, 1, "a"), zombie)).isFalse();
		assertThat(parked().park(record(partition, 2, "a"), owner)).isTrue();
		assertThat(offsets(partition)).containsExactly(2L);
	}

	@Test
	@Tag("promise-4")
	default void recordIsEitherSeenByTheNextOwnerOrNotParked() {
		for (int round = 0; round < 20; round++) {
			ParkedPartition partition = newPartition();
			UUID zombie = UUID.randomUUID();
			parked().takeOver(partition, zombie);
			CompletableFuture<List<Boolean>> parking = CompletableFuture.supplyAsync(() -> IntStream.range(0, 5)
				.mapToObj((offset) -> parked().park(record(partition, offset, "a"), zombie))
				.toList());
			List<Long> seen = offsets(partition);
			assertThat(parking.join()).filteredOn(Boolean::booleanValue).hasSameSizeAs(seen);
			assertThat(offsets(partition)).isEqualTo(seen);
		}
	}

	@Test
	default void partitionsScopesAndTopicsAreSeparate() {
		ParkedPartition partition = newPartition();
		List<ParkedPartition> all = List.of(partition, new ParkedPartition(partition.scope(), "topic", 4),
				new ParkedPartition(partition.scope(), "other", 3),
				new ParkedPartition(partition.scope() + "x", "topic", 3));
		UUID owner = UUID.randomUUID();
		all.forEach((each) -> parked().takeOver(each, owner));
		all.forEach((each) -> assertThat(parked().park(record(each, 1, "a"), owner)).isTrue());
		all.forEach((each) -> assertThat(offsets(each)).containsExactly(1L));
	}

	@Test
	default void recordThatIsDoneIsRemoved() {
		ParkedPartition partition = newPartition();
		UUID owner = UUID.randomUUID();
		parked().takeOver(partition, owner);
		parked().park(record(partition, 1, "a"), owner);
		parked().park(record(partition, 2, "a"), owner);
		parked().remove(record(partition, 1, "a").id());
		parked().remove(record(partition, 1, "a").id());
		assertThat(parked().find(record(partition, 1, "a").id())).isEmpty();
		assertThat(offsets(partition)).containsExactly(2L);
	}

	@Test
	default void operatorSeesTheRecordsOfEachScope() {
		ParkedPartition partition = newPartition();
		UUID owner = UUID.randomUUID();
		parked().takeOver(partition, owner);
		parked().park(record(partition, 1, "a"), owner);
		parked().park(record(partition, 2, null), owner);
		parked().countAttempt(record(partition, 1, "a").id());
		assertThat(parked().summaries()).filteredOn((summary) -> summary.scope().equals(partition.scope()))
			.singleElement()
			.extracting(Summary::records)
			.isEqualTo(2L);
		List<StoredRecord> stored = parked().list(10_000)
			.stream()
			.filter((record) -> record.scope().equals(partition.scope()))
			.toList();
		assertThat(stored).extracting(StoredRecord::offset).containsExactly(1L, 2L);
		assertThat(stored).extracting(StoredRecord::attempts).containsExactly(1, 0);
		assertThat(stored.get(0).key()).isEqualTo(bytes("a"));
		assertThat(parked().list(1)).hasSize(1);
	}

}
