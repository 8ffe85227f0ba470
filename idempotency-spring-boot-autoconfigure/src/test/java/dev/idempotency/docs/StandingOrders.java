package dev.idempotency.docs;

import java.time.Duration;
import java.time.LocalDate;
import java.time.ZoneId;
import java.util.List;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

import dev.idempotency.IdempotencyKey;
import dev.idempotency.Mode;
import dev.idempotency.OperationInProgressException;
import dev.idempotency.template.IdempotencyTemplate;
import dev.idempotency.template.IdempotentOperation;
import dev.idempotency.template.ResultCodec;

@Component
class StandingOrders {

	private static final Log logger = LogFactory.getLog(StandingOrders.class);

	private final IdempotencyTemplate template;

	private final JdbcTemplate jdbc;

	StandingOrders(IdempotencyTemplate template, JdbcTemplate jdbc) {
		this.template = template;
		this.jdbc = jdbc;
	}

	@Scheduled(cron = "${standing-orders.cron:0 */10 6-8 * * *}", zone = "Europe/Berlin")
	void execute() {
		execute(LocalDate.now(ZoneId.of("Europe/Berlin")));
	}

	void execute(LocalDate day) {
		List<String> due = this.jdbc.queryForList("SELECT id FROM standing_order WHERE day_of_month = ?", String.class,
				day.getDayOfMonth());
		for (String order : due) {
			execute(order, day);
		}
	}

	private void execute(String order, LocalDate day) {
		IdempotencyKey key = IdempotencyKey.of("standing-orders", order + "/" + day);
		IdempotentOperation operation = new IdempotentOperation(key, "StandingOrders.execute",
				"standing order " + order, Mode.TRANSACTIONAL, null, Duration.ofSeconds(30), Duration.ofDays(40));
		try {
			this.template.execute(operation, ResultCodec.none(), () -> book(order));
		}
		catch (OperationInProgressException ex) {
			logger.debug("Another instance executes the standing order " + order);
		}
		catch (RuntimeException ex) {
			logger.error("The standing order " + order + " failed. The next run executes it again", ex);
		}
	}

	private Object book(String order) {
		return this.jdbc.update("UPDATE account SET balance = balance - o.amount FROM standing_order o "
				+ "WHERE o.id = ? AND account.id = o.account", order);
	}

}
