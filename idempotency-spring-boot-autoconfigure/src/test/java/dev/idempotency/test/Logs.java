package dev.idempotency.test;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import org.slf4j.LoggerFactory;

/**
 * What the library logs while this is open. A Boot application resets the log when it
 * starts, so open it after that.
 */
public final class Logs implements AutoCloseable {

	private final Logger logger = (Logger) LoggerFactory.getLogger("dev.idempotency");

	private final Level level = this.logger.getLevel();

	private final Recorder recorder = new Recorder();

	public Logs() {
		this.recorder.start();
		this.logger.setLevel(Level.INFO);
		this.logger.setAdditive(false);
		this.logger.addAppender(this.recorder);
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

		@Override
		protected void append(ILoggingEvent event) {
			this.events.add(event);
		}

	}

}
