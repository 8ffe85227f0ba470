package dev.idempotency.memory;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;

import org.jspecify.annotations.Nullable;
import org.springframework.util.Assert;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.store.IdempotencyRecord.State;
import dev.idempotency.store.IdempotencyRecords;

/**
 * The entries of this process, for people. A position is a number.
 */
final class InMemoryRecords implements IdempotencyRecords {

	private static final Comparator<Map.Entry<IdempotencyKey, Entry>> ORDER = Comparator
		.comparing((Map.Entry<IdempotencyKey, Entry> entry) -> entry.getValue().expiresAt())
		.thenComparing((entry) -> entry.getKey().id())
		.reversed();

	private final Map<IdempotencyKey, Entry> entries;

	private final InstantSource clock;

	InMemoryRecords(Map<IdempotencyKey, Entry> entries, InstantSource clock) {
		this.entries = entries;
		this.clock = clock;
	}

	private List<Map.Entry<IdempotencyKey, Entry>> sorted() {
		return this.entries.entrySet()
			.stream()
			.map((entry) -> Map.entry(entry.getKey(), entry.getValue()))
			.sorted(ORDER)
			.toList();
	}

	@Override
	public Overview overview() {
		Instant now = this.clock.instant();
		Map<String, List<Entry>> scopes = new TreeMap<>();
		List<Map.Entry<IdempotencyKey, Entry>> all = sorted();
		all.stream()
			.limit(WINDOW)
			.forEach((entry) -> scopes.computeIfAbsent(entry.getKey().scope(), (scope) -> new ArrayList<>())
				.add(entry.getValue()));
		boolean complete = all.size() <= WINDOW;
		return new Overview(
				scopes.entrySet().stream().map((scope) -> scope(scope.getKey(), scope.getValue(), now)).toList(),
				complete, complete ? null : (long) all.size());
	}

	private static Scope scope(String name, List<Entry> entries, Instant now) {
		Duration oldest = entries.stream()
			.filter(Entry::isInProgress)
			.map((entry) -> Duration.between(entry.createdAt(), now))
			.max(Comparator.naturalOrder())
			.orElse(null);
		return new Scope(name, count(entries, Entry::isInProgress), count(entries, (entry) -> isStuck(entry, now)),
				count(entries, (entry) -> entry.state() == State.FAILED),
				count(entries, (entry) -> entry.state() == State.COMPLETED), oldest);
	}

	private static long count(List<Entry> entries, Predicate<Entry> condition) {
		return entries.stream().filter(condition).count();
	}

	private static boolean isStuck(Entry entry, Instant now) {
		return entry.isInProgress() && !entry.isLive(now);
	}

	@Override
	public Page stuck(int limit, @Nullable String after) {
		Instant now = this.clock.instant();
		return list((entry) -> isStuck(entry, now), limit, after);
	}

	@Override
	public Page failed(int limit, @Nullable String after) {
		return list((entry) -> entry.state() == State.FAILED && entry.failure() != null, limit, after);
	}

	private Page list(Predicate<Entry> condition, int limit, @Nullable String after) {
		List<Map.Entry<IdempotencyKey, Entry>> rest = sorted();
		if (after != null) {
			UUID last = UUID.fromString(after);
			int position = rest.stream().map((entry) -> entry.getKey().id()).toList().indexOf(last);
			Assert.isTrue(position >= 0, "No page ends there, or its last record is gone");
			rest = rest.subList(position + 1, rest.size());
		}
		List<Map.Entry<IdempotencyKey, Entry>> window = rest.subList(0, Math.min(rest.size(), WINDOW));
		List<Map.Entry<IdempotencyKey, Entry>> found = window.stream()
			.filter((entry) -> condition.test(entry.getValue()))
			.limit(limit + 1L)
			.toList();
		IdempotencyKey next = (found.size() > limit) ? found.get(limit - 1).getKey()
				: (window.size() < rest.size()) ? window.get(window.size() - 1).getKey() : null;
		return new Page(found.stream().limit(limit).map((entry) -> entry.getValue().toRecord(entry.getKey())).toList(),
				next == null, (next != null) ? next.id().toString() : null);
	}

	@Override
	public Optional<byte[]> result(IdempotencyKey key) {
		Entry entry = this.entries.get(key);
		byte[] result = (entry != null) ? entry.result() : null;
		return (result != null) ? Optional.of(result.clone()) : Optional.empty();
	}

	@Override
	public Change release(IdempotencyKey key, boolean force) {
		return change(key, (entry) -> (entry.state() == State.COMPLETED) ? Change.COMPLETED : free(entry, force),
				Entry::released);
	}

	@Override
	public Change evict(IdempotencyKey key, boolean force) {
		return change(key, (entry) -> free(entry, force), (entry) -> null);
	}

	private Change free(Entry entry, boolean force) {
		return (force || !entry.isLive(this.clock.instant())) ? Change.DONE : Change.ALIVE;
	}

	private Change change(IdempotencyKey key, Decision decision, Step step) {
		AtomicReference<Change> change = new AtomicReference<>(Change.ABSENT);
		this.entries.computeIfPresent(key, (same, entry) -> {
			change.set(decision.about(entry));
			return (change.get() == Change.DONE) ? step.from(entry) : entry;
		});
		return Objects.requireNonNull(change.get());
	}

	/**
	 * Whether an entry may be changed.
	 */
	private interface Decision {

		Change about(Entry entry);

	}

	/**
	 * How an entry is changed.
	 */
	private interface Step {

		@Nullable Entry from(Entry entry);

	}

}
