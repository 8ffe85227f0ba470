package dev.idempotency.test.ledger;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/**
 * An application with a ledger.
 */
@SpringBootApplication
class LedgerApplication {

}
