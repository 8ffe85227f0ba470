package dev.idempotency.test;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.slf4j.LoggerFactory;

/**
 * What the library logs while this is open. Other tests make it log too, so a class that
 * reads more than what its own thread logs is isolated.
 */
public final class Logs implements AutoCloseable {

	private final Logger logger = (Logger) LoggerFactory.getLogger("dev.idempotency");

	private final Level level = this.logger.getLevel();

	private final Recorder recorder;

	public Logs() {
		this((event) -> true);
	}

	private Logs(Predicate<ILoggingEvent> filter) {
		this.recorder = new Recorder(filter);
		this.recorder.start();
		this.logger.setLevel(Level.INFO);
		this.logger.setAdditive(false);
		this.logger.addAppender(this.recorder);
	}

	/**
	 * What the library logs on the thread of the test.
	 * @return the log
	 */
	public static Logs ofThisThread() {
		String thread = Thread.currentThread().getName();
		return new Logs((event) -> event.getThreadName().equals(thread));
	}

	/**
	 * What the library logs with a name that only one test has.
	 * @param name the name
	 * @return the log
	 */
	public static Logs about(String name) {
		return new Logs((event) -> event.getFormattedMessage().contains(name));
	}

	/**
	 * The messages so far.
	 * @param level their level
	 * @return the messages
	 */
	public List<String> messages(String level) {
		return this.recorder.events.stream()
			.filter((event) -> event.getLevel().equals(Level.toLevel(level)))
			.map(ILoggingEvent::getFormattedMessage)
			.toList();
	}

	@Override
	public void close() {
		this.logger.detachAppender(this.recorder);
		this.logger.setAdditive(true);
		this.logger.setLevel(this.level);
	}

	private static final class Recorder extends AppenderBase<ILoggingEvent> {

		private final List<ILoggingEvent> events = new CopyOnWriteArrayList<>();

		private final Predicate<ILoggingEvent> filter;

		Recorder(Predicate<ILoggingEvent> filter) {
			this.filter = filter;
		}

		@Override
		protected void append(ILoggingEvent event) {
			if (this.filter.test(event)) {
				this.events.add(event);
			}
		}

	}

}
