package dev.idempotency.sample.summary;

import java.math.BigDecimal;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;

/**
 * Compares the statements with the ledger, payment by payment.
 */
@Component
class Reconciliation {

	private static final String COMPARED = """
			with charge as (select id, payment_id, account, amount from ledger_entry where ledger = 'ledger')
			select
				(select count(distinct payment_id) from charge
					where not exists (select from statement_line line where line.payment_id = charge.payment_id)) as missing,
				(select count(*) from statement_line line
					where not exists (select from charge where charge.id = line.entry
						and charge.payment_id = line.payment_id and charge.account = line.account
						and charge.amount = line.amount)) as unknown,
				lines - payments as doubled,
				entries - payments as second_charges,
				(select sum(amount) from account_statement) - payment_amount as doubled_amount
			from (
				select coalesce(sum(lines), 0) as lines, count(*) as entries, count(distinct payment_id) as payments
				from (select payment_id, entry, count(*) as lines from statement_line group by payment_id, entry) as entry
			) as counted, (
				select coalesce(sum(amount), 0) as payment_amount
				from (select distinct payment_id, amount from statement_line) as payment
			) as summed
			""";

	private final JdbcClient jdbc;

	Reconciliation(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	Differences read() {
		return this.jdbc.sql(COMPARED).query(Differences.class).single();
	}

	/**
	 * The differences between the statements and the ledger.
	 *
	 * @param missing the number of charged payments without a line, which may still be
	 * pending under load
	 * @param unknown the number of lines without an entry in the ledger
	 * @param doubled the number of lines in excess of one per payment
	 * @param secondCharges the number of those lines that belong to a second charge
	 * @param doubledAmount the amount in excess of one line per payment
	 */
	record Differences(long missing, long unknown, long doubled, long secondCharges, BigDecimal doubledAmount) {

	}

}
