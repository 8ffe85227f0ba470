package dev.idempotency.sample.summary;

import java.math.BigDecimal;
import java.util.Map;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Tells how much money each ledger has debited beyond one charge of each payment that it
 * knows. Payments that are still to be charged do not count, so the figure is right under
 * traffic, too.
 */
@Component
class Overcharged {

	private static final String OVERCHARGED = """
			select (select -sum(balance) from account where ledger = :ledger)
				- coalesce(sum(charged.amount), 0)
			from (select distinct payment_id, amount from ledger_entry where ledger = :ledger) as charged
			""";

	private final JdbcClient jdbc;

	Overcharged(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	Map<String, BigDecimal> read() {
		return Map.of("protected", of("ledger"), "unprotected", of("ledger-unprotected"));
	}

	private BigDecimal of(String ledger) {
		return this.jdbc.sql(OVERCHARGED).param("ledger", ledger).query(BigDecimal.class).single();
	}

}
