package dev.idempotency.test.orders;

import org.springframework.boot.autoconfigure.SpringBootApplication;

/**
 * An application that handles orders.
 */
@SpringBootApplication
class OrderApplication {

}
